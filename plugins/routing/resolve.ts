import {
  type ChatRequest,
  GatewayError,
  type Mode,
  type Model,
  type Route,
  type RoutingDraft,
  type RuleTraceEntry,
  type Target,
  type Warning,
} from '../../core/contract/index.ts'
import type { Capabilities } from '../../providers/capabilities.ts'
import type { Catalog } from '../../providers/catalog.ts'
import type { RuleDecision } from './evaluate.ts'
import { needsOf, whatIsMissing } from './needs.ts'
import type { Requested } from './requested.ts'
import { type ModeWeights, rankModels } from './score.ts'

/** What there is to choose from. */
export interface Market {
  readonly catalog: Catalog
  readonly weights: ModeWeights
  latencyOf(model: Model): number
  /** Undefined for a provider without an address and a key. */
  capabilitiesOf(provider: string): Capabilities | undefined
  /** False while a model is given a rest after failures. */
  isUsable(model: Model): boolean
}

export interface Resolution {
  readonly route: Route
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
}

/** Where the request goes: what the rules ask for, else what it asks for itself (decisions: "Routing"). */
export function resolveRoute(
  requested: Requested,
  { draft, trace }: RuleDecision,
  preferences: readonly string[],
  market: Market,
): Resolution {
  const skipped = whyModelIsSkipped(draft, market)
  if (skipped === undefined) {
    const usedTrace =
      draft.model === undefined ? trace : markSkipped(trace, 'set_mode', 'mode_unused_model_pinned')
    return {
      route: findRoute(requested, draft, preferences, market),
      warnings: draft.warnings,
      trace: usedTrace,
    }
  }
  const { model: _, ...rest } = draft
  return {
    route: findRoute(requested, rest, preferences, market),
    warnings: [...draft.warnings, { code: 'routing', message: skipped.message }],
    trace: markSkipped(trace, 'set_model', skipped.reason),
  }
}

function findRoute(
  requested: Requested,
  draft: RoutingDraft,
  preferences: readonly string[],
  market: Market,
): Route {
  const { request, model, provider } = draft
  const mode = draft.mode ?? (requested.type === 'auto' ? requested.mode : 'balance')
  if (model !== undefined) {
    return pin(
      findTarget(model, provider, market),
      mode,
      `a routing rule set the model ${model}`,
      request,
      market,
    )
  }
  if (provider !== undefined) {
    const why = `a routing rule set the provider ${provider}`
    return choose(mode, why, { request, provider, preferences: [] }, market)
  }
  if (draft.mode !== undefined) {
    return choose(mode, `a routing rule set the mode ${mode}`, { request, preferences: [] }, market)
  }
  if (requested.type === 'auto') {
    return choose(mode, `best for the mode ${mode}`, { request, preferences }, market)
  }
  const target = findTarget(requested.model, requested.provider, market)
  return pin(target, mode, 'the request named the model', request, market)
}

/** A rule's model that cannot be used: the provider stays, the model is left out, and the caller hears of it. */
function whyModelIsSkipped({ model, provider }: RoutingDraft, { catalog }: Market) {
  if (model === undefined) return undefined
  const entry = catalog.find(model)
  if (provider === undefined && entry === undefined) {
    const message = `The model ${model} that a routing rule sets is not in the catalogue; it was not used.`
    return { reason: 'model_not_found', message }
  }
  if (provider !== undefined && entry !== undefined && catalog.find(model, provider) === undefined) {
    const message = `The model ${model} is not offered by ${provider}; the best model of ${provider} was used.`
    return { reason: 'model_not_offered_by_provider', message }
  }
  return undefined
}

function markSkipped(
  trace: readonly RuleTraceEntry[],
  action: string,
  reason: string,
): readonly RuleTraceEntry[] {
  return trace.map((entry) =>
    entry.action === action && entry.outcome === 'applied' ? { ...entry, outcome: 'skipped', reason } : entry,
  )
}

/** The target of a model's name. With a provider, a name that is not catalogued is passed to it as it stands. */
function findTarget(name: string, provider: string | undefined, { catalog }: Market): Target {
  const entry = catalog.find(name, provider)
  if (entry !== undefined) return { provider: entry.provider, model: entry.id, entry }
  if (provider !== undefined) return { provider, model: name }
  throw new GatewayError('model_not_found', `The model ${name} does not exist here.`, { param: 'model' })
}

function pin(target: Target, mode: Mode, reason: string, request: ChatRequest, market: Market): Route {
  const capabilities = market.capabilitiesOf(target.provider)
  if (capabilities === undefined) throw notConfigured(target.provider)
  const missing = whatIsMissing(target.entry, capabilities, needsOf(request))
  if (missing === 'response_format') {
    const message = `${target.model} cannot honour this response_format. Choose another model or leave it out.`
    throw new GatewayError('unsupported_parameter', message, { param: missing })
  }
  return { mode, targets: [target], pinned: true, reason: sentence(reason, target), score: 1 }
}

function choose(mode: Mode, why: string, { request, preferences, provider }: Choice, market: Market): Route {
  const needs = needsOf(request)
  const misses = (model: Model) => whatIsMissing(model, market.capabilitiesOf(model.provider), needs)
  const offered = market.catalog.models.filter(
    (model) =>
      market.capabilitiesOf(model.provider) && (provider === undefined || model.provider === provider),
  )
  if (offered.length === 0) throw notConfigured(provider)
  const able = offered.filter((model) => misses(model) === undefined)
  if (able.length === 0) throw nobodyIsAble(offered.map(misses))
  const ranked = rankModels(able.filter(market.isUsable), needs, market.weights[mode], market.latencyOf)

  const preferred = preferences.flatMap((name) => ranked.filter(({ model }) => isNamed(model, name)))
  const [best, ...others] = new Set([...preferred, ...ranked])
  if (best === undefined) throw allAreResting()
  const targets: Route['targets'] = [targetOf(best.model), ...others.map(({ model }) => targetOf(model))]
  const reason = preferred.length > 0 ? 'the caller prefers it' : why
  return { mode, targets, pinned: false, reason: sentence(reason, targets[0]), score: best.score }
}

interface Choice {
  readonly request: ChatRequest
  /** Names of models to put first. */
  readonly preferences: readonly string[]
  /** The only provider to choose from. */
  readonly provider?: string
}

/** Seconds after which a provider may have been configured or come back. */
const RETRY_SECONDS = 5

function notConfigured(provider: string | undefined): GatewayError {
  const who = provider === undefined ? 'No provider is' : `The provider ${provider} is not`
  return new GatewayError('no_providers_available', `${who} configured here.`, { retryAfter: RETRY_SECONDS })
}

function allAreResting(): GatewayError {
  const message = 'Every model that could serve this request has been failing and is given a rest. Try again.'
  return new GatewayError('no_providers_available', message, { retryAfter: RETRY_SECONDS })
}

function nobodyIsAble(missing: readonly (string | undefined)[]): GatewayError {
  const what = [...new Set(missing)].join(', ')
  return new GatewayError(
    'unsupported_parameter',
    `No model that may be used can serve this request: ${what}.`,
  )
}

function isNamed(model: Model, name: string): boolean {
  return [model.id, `${model.provider}:${model.id}`, ...model.aliases].includes(name)
}

function targetOf(model: Model): Target {
  return { provider: model.provider, model: model.id, entry: model }
}

function sentence(why: string, { provider, model }: Target): string {
  return `${why[0]?.toUpperCase()}${why.slice(1)}: ${model} of ${provider}.`
}
