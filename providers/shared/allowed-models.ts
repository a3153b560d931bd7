import { type Account, GatewayError, type Target } from '../../core/contract/index.ts'

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

/**
 * Returns the name that a key is restricted to, as requests are compared with it: a model as the catalogue
 * writes it, or any name with a provider. Undefined for other names.
 */
export function resolveAllowedModel(
  name: string,
  providers: ReadonlySet<string>,
  match: (name: string, provider?: string) => { readonly name: string } | undefined,
): string | undefined {
  const whole = match(name)
  if (whole !== undefined) return whole.name
  const [, provider = '', separator, rest = ''] = /^([^/:]+)([/:])(.+)$/.exec(name) ?? []
  return providers.has(provider) ? `${provider}${separator}${match(rest, provider)?.name ?? rest}` : undefined
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
