// A word at the bottom of the page, with at most one thing to do about it.
const toast = document.querySelector("#toast");
const dialog = document.querySelector("#viewer");
let timer = 0;

export function say(text, label, action) {
  const button = toast.querySelector("button");
  toast.querySelector("span").textContent = text;
  button.hidden = !label;
  button.textContent = label ?? "";
  button.onclick = () => {
    toast.hidden = true;
    action();
  };
  // A dialog lies above everything else: the word has to be said inside it.
  (dialog.open ? dialog : document.body).append(toast);
  toast.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => (toast.hidden = true), 5000);
}
