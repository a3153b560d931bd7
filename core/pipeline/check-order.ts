import type { Plugin } from '../contract/index.ts'

/** A plugin of the list; `title` is how sentences call it. */
interface Listed {
  readonly plugin: Pick<Plugin, 'name' | 'after'>
  readonly title: string
}

/** Refuses a list of plugins that cannot work in the order in which it is listed. */
export function checkPluginOrder(list: readonly Listed[]): void {
  const names = list.map(({ plugin }) => plugin.name)
  for (const [place, { plugin, title }] of list.entries()) {
    const first = names.indexOf(plugin.name)
    if (first !== place) throw twice(title, list[first]?.title ?? title)
    for (const earlier of plugin.after ?? []) {
      const where = names.indexOf(earlier)
      if (where === -1) throw new Error(`${title} needs "${earlier}", which is not listed. Add it before.`)
      if (where > place) throw new Error(`${title} must be listed after "${earlier}". Move it down.`)
    }
  }
}

function twice(title: string, other: string): Error {
  if (title === other) return new Error(`${title} is listed twice. List it once.`)
  return new Error(`${title} has the name of ${other}. List only one of them.`)
}
