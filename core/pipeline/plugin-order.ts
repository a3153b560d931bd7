import type { Plugin, Service, UsedServices, Uses } from '../contract/index.ts'

interface NamedPlugin {
  readonly plugin: Pick<Plugin, 'name' | 'uses' | 'provides'>
  readonly isBuiltIn: boolean
  /** The plugin's name in error messages. */
  readonly title: string
}

/** The services of the gateway itself and of the plugins that are set up. */
export class ServiceRegistry {
  readonly #services = new Map<string, () => unknown>()
  readonly #ofPlugins = new Set<string>()

  /** Offers a service. Throws if there is one of this name. */
  provide<Offered>(service: Service<Offered>, offered: Offered): this {
    return this.provideLazily(service, () => offered)
  }

  /** Offers a service that is created when a plugin first uses it. */
  provideLazily<Offered>({ name }: Service<Offered>, create: () => Offered | Promise<Offered>): this {
    if (this.#services.has(name)) throw new Error(`the service "${name}" is provided twice`)
    let created: { readonly offered: Offered | Promise<Offered> } | undefined
    this.#services.set(name, () => {
      created ??= { offered: create() }
      return created.offered
    })
    return this
  }

  /** Offers a service of a plugin, which all plugins may use. */
  provideFromPlugin<Offered>(service: Service<Offered>, offered: Offered): void {
    this.provide(service, offered)
    this.#ofPlugins.add(service.name)
  }

  has(name: string): boolean {
    return this.#services.has(name)
  }

  /**
   * Returns the services that a plugin uses. Optional ones that nobody provides are undefined. Packages get
   * those of plugins only: among the gateway's own are the settings, with their keys.
   */
  async resolve<Used extends Uses>(uses: Used, isBuiltIn = true): Promise<UsedServices<Used>> {
    const used: Record<string, unknown> = {}
    for (const [key, { name }] of Object.entries(uses))
      if (isBuiltIn || this.#ofPlugins.has(name)) used[key] = await this.#services.get(name)?.()
    return used as UsedServices<Used>
  }
}

/** What is wrong with the services of listed plugins, and the order in which they can be set up. */
interface ServiceOrder<Listed> {
  readonly issues: readonly string[]
  /** Every plugin follows those whose services it uses; otherwise the listed order. */
  readonly order: readonly Listed[]
}

/**
 * Orders listed plugins by what they use. A service that is missing, provided twice or used in a circle is an
 * issue that names the plugins. `isGiven` tells whether the gateway itself provides a service,
 * which is for built-in plugins. Pass
 * `isComplete: false` if some listed plugins could not be loaded: they may be the ones that provide it.
 */
export function orderByServices<Listed extends NamedPlugin>(
  list: readonly Listed[],
  isGiven: (service: string) => boolean,
  isComplete = true,
): ServiceOrder<Listed> {
  const issues: string[] = []
  const providers = new Map<string, Listed>()
  for (const listed of list)
    for (const { name } of listed.plugin.provides ?? []) {
      const other = providers.get(name)
      if (other) issues.push(`${listed.title} and ${other.title} both provide the service "${name}".`)
      providers.set(name, listed)
    }
  const order = new Set<Listed>()
  function add(listed: Listed, path: readonly Listed[]): void {
    if (order.has(listed)) return
    if (path.includes(listed)) {
      const titles = [...path.slice(path.indexOf(listed)), listed].map(({ title }) => title)
      issues.push(`${titles.join(' uses ')}: plugins cannot use each other in a circle.`)
      return
    }
    for (const { name, isOptional } of Object.values(listed.plugin.uses ?? {})) {
      const provider = providers.get(name)
      if (provider !== undefined) add(provider, [...path, listed])
      else if (!isOptional && !(listed.isBuiltIn && isGiven(name)) && isComplete)
        issues.push(describeMissing(listed.title, name))
    }
    order.add(listed)
  }
  for (const listed of list) add(listed, [])
  return { issues, order: [...order] }
}

function describeMissing(title: string, service: string): string {
  const [plugin] = service.split('.')
  return (
    `${title} uses the service "${service}", which no listed plugin provides. ` +
    `List "${plugin}", or remove ${title}.`
  )
}

interface OrderedPlugin {
  readonly plugin: Pick<Plugin, 'name' | 'after' | 'before'>
  /** The plugin's name in error messages. */
  readonly title: string
}

/**
 * Throws if a plugin is listed twice, or out of order: see `after` and `before` of plugins, and
 * docs/decisions/plugins.md, "A plugin without a valid place stops the start".
 */
export function checkPluginOrder(list: readonly OrderedPlugin[]): void {
  const [issue] = findOrderIssues(list)
  if (issue !== undefined) throw new Error(issue)
}

/**
 * Returns everything that is wrong with the order of plugins. Pass `isComplete: false` if some listed plugins
 * could not be loaded: they may be the ones that are missing.
 */
export function findOrderIssues(list: readonly OrderedPlugin[], isComplete = true): readonly string[] {
  const issues: string[] = []
  const names = list.map(({ plugin }) => plugin.name)
  for (const [index, { plugin, title }] of list.entries()) {
    const first = names.indexOf(plugin.name)
    if (first !== index) issues.push(describeDuplicate(title, list[first]?.title ?? title))
    for (const required of plugin.after ?? []) {
      const requiredIndex = names.indexOf(required)
      if (requiredIndex === -1 && isComplete)
        issues.push(`${title} requires "${required}", which is not listed. List "${required}" before it.`)
      if (requiredIndex > index)
        issues.push(
          `${title} must be listed after "${required}". Move it down, or add it with "after: ${required}".`,
        )
    }
    for (const later of plugin.before ?? []) {
      const laterIndex = names.indexOf(later)
      if (laterIndex !== -1 && laterIndex < index)
        issues.push(
          `${title} must be listed before "${later}". Move it up, or add it with "before: ${later}".`,
        )
    }
  }
  return issues
}

function describeDuplicate(title: string, firstTitle: string): string {
  if (title === firstTitle) return `${title} is listed twice. List it once.`
  return `${title} has the same name as ${firstTitle}. List only one of them.`
}
