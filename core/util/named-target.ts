import type { Target } from '../contract/index.ts'

/** Whether a request names the model of a target: by its name or an alias, with or without a prefix. */
export function namesTarget(requested: string | undefined, { model, alias, entry }: Target): boolean {
  const names = [model, alias, ...(entry?.aliases ?? [])]
  return names.some((name) => name !== undefined && (requested === name || isPrefixed(requested, name)))
}

function isPrefixed(requested: string | undefined, name: string): boolean {
  const separator = requested?.at(-name.length - 1)
  return (separator === ':' || separator === '/') && requested?.endsWith(name) === true
}
