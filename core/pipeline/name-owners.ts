/** Knows which plugin has defined each name, so that errors about a clash name both. */
export interface NameOwners {
  /** Throws if the name is already defined. `title` names the plugin, `kind` what it defines. */
  claim(kind: string, name: string, title: string): void
}

export function createNameOwners(): NameOwners {
  const owners = new Map<string, string>()
  return {
    claim(kind, name, title) {
      const owner = owners.get(`${kind} ${name}`)
      if (owner !== undefined)
        throw new Error(`${title} defines the ${kind} "${name}", which ${owner} already defines. Rename it.`)
      owners.set(`${kind} ${name}`, title)
    },
  }
}
