/**
 * The folder of this package's `package.json`. Modules run from the source, compiled in `dist`, or bundled in
 * `dist/program`.
 */
export const PACKAGE_FOLDER = new URL(
  import.meta.url.replace(/(?:dist\/(?:program\/)?)?core\/util\/package-folder\.[jt]s$/, ''),
)
