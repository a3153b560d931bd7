import type { Plugin } from '../contract/index.ts'

/** Refuses a list of plugins that cannot work in the order in which it is listed. */
export function checkOrder(plugins: readonly Plugin[]): void {
  const names = plugins.map((plugin) => plugin.name)
  for (const [place, { name, after = [] }] of plugins.entries()) {
    if (names.indexOf(name) !== place) throw new Error(`plugin "${name}" is listed twice. List it once.`)
    for (const earlier of after) {
      const where = names.indexOf(earlier)
      if (where === -1)
        throw new Error(`plugin "${name}" needs "${earlier}", which is not listed. Add it before.`)
      if (where > place) throw new Error(`plugin "${name}" must be listed after "${earlier}". Move it down.`)
    }
  }
}
