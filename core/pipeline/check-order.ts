import type { Plugin } from '../contract/index.ts'

/** A plugin of the list; `title` is how sentences call it. */
interface Listed {
  readonly plugin: Pick<Plugin, 'name' | 'after'>
  readonly title: string
}

/** Refuses a list of plugins that cannot work in the order in which it is listed. */
export function checkOrder(list: readonly Listed[]): void {
  const [issue] = findOrderIssues(list)
  if (issue !== undefined) throw new Error(issue)
}

/**
 * Issues with the order of plugins. `isComplete` is false if some listed plugins are not known: those may be
 * the missing ones.
 */
export function findOrderIssues(list: readonly Listed[], isComplete = true): readonly string[] {
  const issues: string[] = []
  const names = list.map(({ plugin }) => plugin.name)
  for (const [place, { plugin, title }] of list.entries()) {
    const first = names.indexOf(plugin.name)
    if (first !== place) issues.push(twice(title, list[first]?.title ?? title))
    for (const earlier of plugin.after ?? []) {
      const where = names.indexOf(earlier)
      if (where === -1 && isComplete)
        issues.push(`${title} needs "${earlier}", which is not listed. Add it before.`)
      if (where > place) issues.push(`${title} must be listed after "${earlier}". Move it down.`)
    }
  }
  return issues
}

function twice(title: string, other: string): string {
  if (title === other) return `${title} is listed twice. List it once.`
  return `${title} has the name of ${other}. List only one of them.`
}
