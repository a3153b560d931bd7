import { type Account, GatewayError, type Target } from '../contract/index.ts'

/** Lower-case names by the array in the account, which is shared by all requests of the key. */
const nameSets = new WeakMap<readonly string[], ReadonlySet<string>>()

/**
 * Whether a key may use a model: without a list, it may use all. An entry is the name or an alias of a model,
 * of any provider, or `provider/name`.
 */
export function isModelAllowed(
  { models }: Pick<Account, 'models'>,
  { provider, model, entry }: Pick<Target, 'provider' | 'model' | 'entry'>,
): boolean {
  if (models === undefined) return true
  let names = nameSets.get(models)
  if (names === undefined) {
    const lower = models.map((name) => name.toLowerCase())
    names = new Set([...lower, ...lower.map((name) => name.replace(':', '/'))])
    nameSets.set(models, names)
  }
  for (const name of [model, ...(entry ? [entry.id, ...entry.aliases] : [])]) {
    const lower = name.toLowerCase()
    if (names.has(lower) || names.has(`${provider}/${lower}`)) return true
  }
  return false
}

/** Whether a key may be restricted to the name: a model of the catalogue, or any name with a provider. */
export function isKnownModel(
  name: string,
  providers: ReadonlySet<string>,
  find: (name: string) => unknown,
): boolean {
  const [, provider = ''] = /^([^/:]+)[/:]./.exec(name) ?? []
  return providers.has(provider) || find(name) !== undefined
}

/** Throws 403 unless the key may use the target. */
export function checkModelAllowed(account: Pick<Account, 'models'>, target: Target): void {
  if (isModelAllowed(account, target)) return
  throw modelNotAllowedError(`This key may not use ${target.provider}/${target.model}.`, account)
}

/** The 403 for a model outside the list of a key. `what` is a sentence. */
export function modelNotAllowedError(what: string, { models = [] }: Pick<Account, 'models'>): GatewayError {
  const message = `${what} It may use: ${models.join(', ')}.`
  return new GatewayError('model_not_allowed', message, { param: 'model' })
}
