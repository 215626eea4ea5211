// The package is not bundled beforehand: its worker and its engine are files of their own.
export default { base: "./", optimizeDeps: { exclude: ["sketch-seek"] } };
