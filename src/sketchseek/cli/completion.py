"""Completion for shells: what the command line's parser knows, as a script that bash, zsh or fish reads."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

_BASH = """\
_sketchseek() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} given="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in -*) ;; *) given+="${{given:+ }}${{COMP_WORDS[i]}}" ;; esac
  done
  local words=""
  case "$given $before" in
{values}
  esac
  if [[ -z $words ]]; then
    local options=""
    case "$given" in
{commands}
    esac
    [[ $word == -* ]] && words=$options
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _sketchseek sketchseek
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `completion`."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(args: argparse.Namespace) -> int:
    """`completion`."""
    from . import build_parser

    print(script(build_parser(["completion"]), args.shell), end="")
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """What the shell is to read."""
    if shell == "fish":
        return "\n".join(_fish(parser)) + "\n"
    text = _bash(parser)
    return (
        text
        if shell == "bash"
        else f"#compdef sketchseek\nautoload -U +X bashcompinit && bashcompinit\n{text}"
    )


def commands(
    parser: argparse.ArgumentParser, names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser, dict[str, str]]]:
    """Every command: its words, its parser, and the commands below it with what they do."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            yield names, parser, helps
            for name, inner in action.choices.items():
                yield from commands(inner, (*names, name))
            return
    yield names, parser, {}


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings]


def _bash(parser: argparse.ArgumentParser) -> str:
    """A word completes to an option's values, to options after a dash, else to commands, choices or files."""
    values, known = [], []
    for names, inner, below in commands(parser):
        typed = shlex.quote(" ".join(names))
        options = [word for action in _options(inner) for word in action.option_strings]
        choices = [c for action in inner._actions if not action.option_strings for c in action.choices or ()]
        pattern = f"{typed}*" if names and not below else typed
        offered = f"words={shlex.quote(' '.join(choices))} options={shlex.quote(' '.join(options))}"
        known.append(f"    {pattern}) {offered} ;;")
        for action in _options(inner):
            if action.choices:
                these = shlex.quote(" ".join(map(str, action.choices)))
                values += [f"    {typed}*' '{word}) words={these} ;;" for word in action.option_strings]
    return _BASH.format(values="\n".join(values), commands="\n".join(reversed(known)))


def _fish(parser: argparse.ArgumentParser) -> Iterator[str]:
    for names, inner, below in commands(parser):
        seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in names)
        start = f"complete -c sketchseek -n {shlex.quote(seen)}" if names else "complete -c sketchseek"
        for name, text in below.items():
            at = shlex.quote(
                f"{seen}; and " * bool(names) + f"not __fish_seen_subcommand_from {' '.join(below)}"
            )
            yield f"complete -c sketchseek -f -n {at} -a {name} -d {shlex.quote(text)}"
        for action in _options(inner):
            words = [
                f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
                for word in action.option_strings
            ]
            if action.choices:
                words.append(f"-xa {shlex.quote(' '.join(map(str, action.choices)))}")
            elif action.nargs != 0:
                words.append("-r")
            text = "" if action.help is argparse.SUPPRESS else action.help or ""
            yield f"{start} {' '.join(words)} -d {shlex.quote(text % {'default': action.default})}"
