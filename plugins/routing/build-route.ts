import {
  type Account,
  type ChatRequest,
  type Exchange,
  GatewayError,
  type Mode,
  type Model,
  type Route,
  type Target,
} from '../../core/contract/index.ts'
import {
  checkModelAllowed,
  isModelAllowed,
  modelNotAllowedError,
} from '../../providers/shared/allowed-models.ts'
import { describeRequirement, requirementError } from '../../providers/shared/attributes.ts'
import { type Capabilities, currentDate, isRetired } from '../../providers/shared/catalog.ts'
import type { ParameterFit } from '../../providers/shared/parameter-fit.ts'
import type { PromptAssessment } from '../learned-routing/index.ts'
import { drawModel, toRouterChoice } from './explore.ts'
import type { StickyChoice } from './kept-model.ts'
import { modelNotFoundError } from './model-not-found.ts'
import { promptQuality, rankModels, sortByFit } from './rank-models.ts'
import { admitsTarget, checkDemand, type Demand } from './require-action.ts'
import {
  type AskedOperation,
  findMissingCapability,
  formatTypeOf,
  formRequirementsOf,
  hasDimensions,
  operationOf,
  type Requirements,
  requirementsOf,
} from './requirements.ts'
import type { RoutingCatalog } from './routing-catalog.ts'
import { unsupportedByAllError, unsupportedByModelError } from './unsupported-errors.ts'

/**
 * Builds a route to one model that the request or a rule names. Throws 403 if the key may not use it, 503 if
 * its provider is not configured or it does not meet what rules require, and 400 if it does not support
 * the requested format of the reply, or cannot be forced to call a tool as requested.
 */
export function buildFixedRoute(
  target: Target,
  mode: Mode,
  reason: string,
  request: ChatRequest,
  routingCatalog: RoutingCatalog,
  caller: FixedRouteCaller = {},
): Route {
  checkModelAllowed(caller, target)
  const capabilities = routingCatalog.capabilitiesOf(target.provider)
  if (capabilities === undefined) throw notConfiguredError(target.provider, routingCatalog)
  checkOperation(target, caller)
  checkFixedModel(target, request, capabilities, caller)
  const { operation, dimensions, demand } = caller
  checkDemand(demand, target, routingCatalog)
  return {
    mode,
    targets: [target],
    isFixed: true,
    candidates: () => findCandidates(request, routingCatalog, { operation, dimensions }).candidates,
    reason: reasonSentence(reason, target),
    score: 1,
  }
}

/** `parameterNames`: see `Exchange`. */
type FixedRouteCaller = Pick<Account, 'models'> &
  Pick<Exchange, 'parameterNames'> &
  AskedOperation &
  Demanding

interface Demanding {
  readonly demand?: Demand | undefined
}

function checkFixedModel(
  target: Target,
  request: ChatRequest,
  capabilities: Capabilities,
  { parameterNames }: FixedRouteCaller,
): void {
  const type = formatTypeOf(request)
  if (type === undefined && request.tool_choice == null) return
  const missing = findMissingCapability(target.entry, capabilities, formRequirementsOf(request))
  if (missing !== 'response_format' && missing !== 'tool_choice') return
  throw unsupportedByModelError(missing, parameterNames?.[missing] ?? missing, type, target, capabilities)
}

/** `userId`: circuits may be open for one user alone. `models`: what the key is restricted to. */
interface AutomaticChoice
  extends Pick<Account, 'userId' | 'models'>,
    Pick<Exchange, 'parameterNames'>,
    AskedOperation,
    Demanding {
  readonly request: ChatRequest
  /** Names of preferred models, most preferred first. */
  readonly preferences: readonly string[]
  /** Restricts the choice to one provider. */
  readonly provider?: string
  /** What the learned router knows about the prompt. */
  readonly assessment?: PromptAssessment | undefined
  /** Keeps the model of a conversation, unless the caller prefers models. */
  readonly conversation?: StickyChoice | undefined
}

/**
 * Builds a route over all models that support the request (docs/guides/routing.md, "Automatic choice"): first
 * the
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
  const { candidates, requirements, fitOf } = findCandidates(choice.request, routingCatalog, choice)
  const usable = candidates.filter((model) => isUsable(model, choice.userId))
  const { assessment } = choice
  const qualityOf = assessment?.decides ? promptQuality(assessment) : undefined
  const ranked = rankModels(usable, requirements, weights[mode], latencyOf, qualityOf)
  const { sorted, bestCount } = sortByFit(ranked, lossOf(requirements, fitOf, routingCatalog))
  const preferred = choice.preferences.flatMap((name) => sorted.filter(({ model }) => hasName(model, name)))
  const [ranking] = sorted
  if (ranking === undefined) throw allUnavailableError(choice.demand)
  const isOpen = preferred.length === 0
  const last = isOpen
    ? choice.conversation?.choose(mode, sorted.slice(0, bestCount), requirements)
    : undefined
  const drawn =
    assessment !== undefined && assessment.explore > 0 && isOpen && last === undefined
      ? drawModel(ranking, sorted.slice(0, bestCount), mode, requirements, assessment)
      : undefined
  const first = drawn?.chosen ?? last?.ranked
  const [best = ranking, ...others] = new Set([...preferred, ...(first ? [first] : []), ...sorted])
  const router = toRouterChoice(assessment, best.model, drawn?.propensity ?? null)
  const targets: Route['targets'] = [targetOf(best.model), ...others.map(({ model }) => targetOf(model))]
  const decisive = last?.kept ? KEPT : isOpen ? reason : 'the caller prefers this model'
  const bestTargets = new Set([...preferred, ...sorted.slice(0, bestCount)]).size
  return {
    mode,
    targets,
    isFixed: false,
    ...(bestTargets < targets.length && { bestTargets }),
    candidates: () => candidates,
    // The mode decides, as if a rule had set it: preferred models are not tried first, and none is kept.
    reroute: (mode, reason) =>
      buildAutomaticRoute(
        mode,
        reason,
        { ...choice, preferences: [], conversation: undefined },
        routingCatalog,
      ),
    reason: reasonSentence(decisive, targets[0]),
    score: best.score,
    ...(router && { router }),
    ...(last?.kept && { kept: last.kept }),
    ...(last?.deployment !== undefined && { deployment: last.deployment }),
  }
}

const KEPT = 'kept for the prompt cache'

/** Throws 400 if the model does something else than the endpoint asks for. */
function checkOperation({ model, entry }: Target, { operation = 'chat', dimensions }: AskedOperation): void {
  if (entry === undefined) return
  if (operationOf(entry) !== operation) {
    const message =
      `${model} is a model for ${operationOf(entry)}, and this endpoint needs one for ${operation}. ` +
      'GET /v1/models lists the available models with their operation.'
    throw new GatewayError('unsupported_parameter', message, { param: 'model' })
  }
  if (dimensions === undefined || hasDimensions(entry, dimensions)) return
  const { default: usual = 0, min = usual, max = usual } = entry.dimensions ?? {}
  const lengths = min === max ? `only ${usual}` : `${min} to ${max}`
  const message = `dimensions: ${model} supports ${lengths}. Change or omit it.`
  throw new GatewayError('unsupported_parameter', message, { param: 'dimensions' })
}

/** More than parameters can count: providers of other formats get the request without some of its content. */
const LOST_CONTENT = 1000

/** Returns how much of a request a model would not get as it was sent. */
function lossOf(
  { anthropic = false, resultImages = false }: Requirements,
  fitOf: FitOf,
  { reads }: RoutingCatalog,
): (model: Model) => number {
  if (!anthropic && !resultImages) return (model) => fitOf(model).deviations
  const isLost = ({ capabilities, provider }: Model) =>
    (resultImages && !capabilities.images) || (anthropic && !reads?.(provider, 'anthropic'))
  return (model) => fitOf(model).deviations + (isLost(model) ? LOST_CONTENT : 0)
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
  const family = findFamilyProvider(name)
  if (family !== undefined && capabilitiesOf(family)) return { provider: family, model: name }
  throw modelNotFoundError(name, catalog.models)
}

/** Clients name new models as soon as they exist. These names say whose they are. */
const FAMILIES: readonly (readonly [names: RegExp, provider: string])[] = [
  [/^(?:ft:)?(?:(?:chat)?gpt-|o\d)/i, 'openai'],
  [/^claude-/i, 'anthropic'],
  [/^gemini-/i, 'gemini'],
  [/^(?:mistral|ministral|magistral|codestral|devstral|pixtral|voxtral)-/i, 'mistral'],
  [/^deepseek-/i, 'deepseek'],
]

/** Returns the provider of a model that the catalogue does not have, if its name is one of a known family. */
export function findFamilyProvider(name: string): string | undefined {
  return FAMILIES.find(([names]) => names.test(name))?.[1]
}

/**
 * Returns the models that support the request and that the caller may use, at least one; throws if there are
 * none. Without a caller, the models that everybody may use.
 */
function findCandidates(
  request: ChatRequest,
  routingCatalog: RoutingCatalog,
  choice: Partial<Omit<AutomaticChoice, 'request'>> = {},
) {
  const { catalog, capabilitiesOf, fitParameters } = routingCatalog
  const { provider, models, preferences, parameterNames, operation = 'chat', dimensions, demand } = choice
  const requirements = requirementsOf(request, { operation, dimensions })
  const fitOf: FitOf = (operation === 'chat' && fitParameters?.(request)) || fitPerfectly
  const missing = (model: Model) =>
    findMissingCapability(model, capabilitiesOf(model.provider), requirements) ?? fitOf(model).refused
  const today = currentDate()
  const configured = catalog.models.filter(
    (model) =>
      capabilitiesOf(model.provider) &&
      (provider === undefined || model.provider === provider) &&
      isChosenAutomatically(model, preferences, today),
  )
  if (configured.length === 0) throw notConfiguredError(provider, routingCatalog)
  const caller = models && { models }
  const offered = caller ? configured.filter((model) => isModelAllowed(caller, targetOf(model))) : configured
  if (caller && offered.length === 0) {
    const place = provider === undefined ? 'No available model' : `No model of ${provider}`
    throw modelNotAllowedError(`${place} is one that this key may use.`, caller)
  }
  const ofOperation = offered.filter((model) => operationOf(model) === operation)
  if (ofOperation.length === 0)
    throw new GatewayError('unsupported_parameter', `No available model supports: ${operation}.`)
  const supporting = ofOperation.filter((model) => missing(model) === undefined)
  if (supporting.length === 0) throw unsupportedByAllError(ofOperation, missing, requirements, parameterNames)
  const candidates = supporting.filter((model) => admitsTarget(demand, targetOf(model), routingCatalog))
  if (demand !== undefined && candidates.length === 0)
    throw requirementError('No available model that supports this request meets', demand.requirement)
  return { candidates, requirements, fitOf }
}

type FitOf = (model: Model) => ParameterFit

const fitPerfectly: FitOf = () => ({ deviations: 0 })

/** Seconds after which a provider may have recovered. */
const RETRY_AFTER_SECONDS = 5

/** Only the operator can change that, so clients are told not to retry. */
function notConfiguredError(
  provider: string | undefined,
  { missingKeyOf }: Pick<RoutingCatalog, 'missingKeyOf'>,
): GatewayError {
  const variable = provider && missingKeyOf?.(provider)
  const message =
    (provider === undefined ? 'No provider is configured.' : `Provider ${provider} is not configured.`) +
    (variable ? ` Ask the gateway's operator to set its API key, ${variable}.` : '')
  return new GatewayError('no_providers_available', message, { headers: { 'x-should-retry': 'false' } })
}

function allUnavailableError(demand: Demand | undefined): GatewayError {
  const demanded = demand && ` and meets the rules (require: ${describeRequirement(demand.requirement)})`
  const message =
    `Every model that supports this request${demanded ?? ''} is temporarily unavailable (circuit open). ` +
    'Try again later.'
  return new GatewayError('no_providers_available', message, { retryAfter: RETRY_AFTER_SECONDS })
}

function isChosenAutomatically(model: Model, preferences: readonly string[] = [], today: string): boolean {
  if (isRetired(model, today)) return false
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
