import {
  type Account,
  type ChatRequest,
  GatewayError,
  type Mode,
  type Model,
  type Route,
  type Target,
} from '../../core/contract/index.ts'
import { checkModelAllowed, isModelAllowed, modelNotAllowedError } from '../../core/util/allowed-models.ts'
import { isRetired } from '../../providers/shared/catalog.ts'
import { modelNotFoundError } from './model-not-found.ts'
import { rankModels } from './rank-models.ts'
import { findMissingCapability, requirementsOf } from './requirements.ts'
import type { RoutingCatalog } from './routing-catalog.ts'

/**
 * Builds a route to one model that the request or a rule names. Throws 403 if the key may not use it, 503 if
 * its provider is not configured, and 400 if the model does not support the requested `response_format`.
 */
export function buildFixedRoute(
  target: Target,
  mode: Mode,
  reason: string,
  request: ChatRequest,
  routingCatalog: RoutingCatalog,
  caller: Pick<Account, 'models'> = {},
): Route {
  checkModelAllowed(caller, target)
  const capabilities = routingCatalog.capabilitiesOf(target.provider)
  if (capabilities === undefined) throw notConfiguredError(target.provider)
  if (
    request.response_format &&
    findMissingCapability(target.entry, capabilities, requirementsOf(request)) === 'response_format'
  ) {
    const message = `${target.model} does not support this response_format. Use another model or omit it.`
    throw new GatewayError('unsupported_parameter', message, { param: 'response_format' })
  }
  return {
    mode,
    targets: [target],
    isFixed: true,
    candidates: () => findCandidates(request, routingCatalog).candidates,
    reason: reasonSentence(reason, target),
    score: 1,
  }
}

/** `userId`: circuits may be open for one user alone. `models`: what the key is restricted to. */
interface AutomaticChoice extends Pick<Account, 'userId' | 'models'> {
  readonly request: ChatRequest
  /** Names of preferred models, most preferred first. */
  readonly preferences: readonly string[]
  /** Restricts the choice to one provider. */
  readonly provider?: string
}

/**
 * Builds a route over all models that support the request (docs/routing.md, "Automatic choice"): first the
 * preferred ones, then the others by their score for the mode. Throws 503 if no provider or model is
 * available, and 400 if no model supports the request.
 */
export function buildAutomaticRoute(
  mode: Mode,
  reason: string,
  choice: AutomaticChoice,
  routingCatalog: RoutingCatalog,
): Route {
  const { weights, latencyOf, isUsable } = routingCatalog
  const { candidates, requirements } = findCandidates(choice.request, routingCatalog, choice.provider, choice)
  const usable = candidates.filter((model) => isUsable(model, choice.userId))
  const scored = rankModels(usable, requirements, weights[mode], latencyOf)
  const ranked = requirements.anthropic ? preferAnthropicFormat(scored, routingCatalog) : scored
  const preferred = choice.preferences.flatMap((name) => ranked.filter(({ model }) => hasName(model, name)))
  const [best, ...others] = new Set([...preferred, ...ranked])
  if (best === undefined) throw allUnavailableError()
  const targets: Route['targets'] = [targetOf(best.model), ...others.map(({ model }) => targetOf(model))]
  const decisive = preferred.length > 0 ? 'the caller prefers this model' : reason
  return {
    mode,
    targets,
    isFixed: false,
    candidates: () => candidates,
    // The mode decides, as if a rule had set it: preferred models are not tried first.
    reroute: (mode, reason) =>
      buildAutomaticRoute(mode, reason, { ...choice, preferences: [] }, routingCatalog),
    reason: reasonSentence(decisive, targets[0]),
    score: best.score,
  }
}

/** Providers of other formats would get the request without some of its content. */
function preferAnthropicFormat(
  ranked: ReturnType<typeof rankModels>,
  { readsAnthropicContent }: RoutingCatalog,
): ReturnType<typeof rankModels> {
  const reads = ({ model }: (typeof ranked)[number]) => readsAnthropicContent?.(model.provider) === true
  return [...ranked.filter(reads), ...ranked.filter((each) => !reads(each))]
}

/**
 * Returns the target of a model name. A name that is not in the catalogue is passed unchanged to `provider`
 * or, if its family belongs to a configured provider, to that one; throws 404 otherwise.
 */
export function findTarget(
  name: string,
  provider: string | undefined,
  { catalog, capabilitiesOf }: RoutingCatalog,
): Target {
  const match = catalog.match(name, provider)
  if (match?.isDated) return { provider: match.model.provider, model: name, entry: match.model }
  if (match !== undefined) return targetOf(match.model, match.name)
  if (provider !== undefined) return { provider, model: name }
  // Anthropic's clients name models by date, and new ones as soon as they exist.
  if (/^claude-/.test(name) && capabilitiesOf('anthropic')) return { provider: 'anthropic', model: name }
  throw modelNotFoundError(name, catalog.models)
}

/**
 * Returns the models that support the request and that the caller may use, at least one; throws if there are
 * none. Without a caller, the models that everybody may use.
 */
function findCandidates(
  request: ChatRequest,
  { catalog, capabilitiesOf }: RoutingCatalog,
  provider?: string,
  caller: Pick<Account, 'models'> & { readonly preferences?: readonly string[] } = {},
) {
  const requirements = requirementsOf(request)
  const missing = (model: Model) => findMissingCapability(model, capabilitiesOf(model.provider), requirements)
  const configured = catalog.models.filter(
    (model) =>
      capabilitiesOf(model.provider) &&
      (provider === undefined || model.provider === provider) &&
      isChosenAutomatically(model, caller.preferences),
  )
  if (configured.length === 0) throw notConfiguredError(provider)
  const offered = caller.models
    ? configured.filter((model) => isModelAllowed(caller, targetOf(model)))
    : configured
  if (offered.length === 0) {
    const place = provider === undefined ? 'No available model' : `No model of ${provider}`
    throw modelNotAllowedError(`${place} is one that this key may use.`, caller)
  }
  const candidates = offered.filter((model) => missing(model) === undefined)
  if (candidates.length === 0) throw unsupportedError(offered.map(missing))
  return { candidates, requirements }
}

/** Seconds after which a provider may have been configured or have recovered. */
const RETRY_AFTER_SECONDS = 5

function notConfiguredError(provider: string | undefined): GatewayError {
  const message =
    provider === undefined ? 'No provider is configured.' : `Provider ${provider} is not configured.`
  return new GatewayError('no_providers_available', message, { retryAfter: RETRY_AFTER_SECONDS })
}

function allUnavailableError(): GatewayError {
  const message =
    'Every model that supports this request is temporarily unavailable (circuit open). Try again later.'
  return new GatewayError('no_providers_available', message, { retryAfter: RETRY_AFTER_SECONDS })
}

function unsupportedError(missing: readonly (string | undefined)[]): GatewayError {
  const names = [...new Set(missing)].map((name) => (name === 'context' ? 'a context of this length' : name))
  return new GatewayError('unsupported_parameter', `No available model supports: ${names.join(', ')}.`)
}

function isChosenAutomatically(model: Model, preferences: readonly string[] = []): boolean {
  if (isRetired(model)) return false
  return model.automatic !== false || preferences.some((name) => hasName(model, name))
}

function hasName(model: Model, name: string): boolean {
  const { id, provider, aliases } = model
  return [id, `${provider}:${id}`, `${provider}/${id}`, ...aliases].includes(name)
}

/**
 * Targets by model and name. They are cached so that the request records kept in memory share them. The cache
 * is bounded by the names in the catalogue.
 */
const targets = new WeakMap<Model, Map<string, Target>>()

/** Returns the target of a catalogued model under one of its names. */
function targetOf(model: Model, name: string = model.id): Target {
  const cached = targets.get(model) ?? new Map<string, Target>()
  targets.set(model, cached)
  let target = cached.get(name)
  if (target === undefined) {
    const { provider, id } = model
    target = { provider, model: id, ...(name !== id && { alias: name }), entry: model }
    cached.set(name, target)
  }
  return target
}

/** Sentences by target and reason, cached like `targets`; there are few reasons. */
const sentences = new WeakMap<Target, Map<string, string>>()

function reasonSentence(reason: string, target: Target): string {
  const cached = target.entry && cachedSentencesOf(target)
  let sentence = cached?.get(reason)
  if (sentence === undefined) {
    sentence = `${reason[0]?.toUpperCase()}${reason.slice(1)}: ${target.provider}/${target.model}.`
    cached?.set(reason, sentence)
  }
  return sentence
}

function cachedSentencesOf(target: Target): Map<string, string> {
  const cached = sentences.get(target) ?? new Map<string, string>()
  sentences.set(target, cached)
  return cached
}
