import {
  type ChatRequest,
  GatewayError,
  type Mode,
  type Model,
  type Route,
  type RuleTraceEntry,
  type Target,
  type Warning,
} from '../../core/contract/index.ts'
import type { Catalog } from '../../providers/catalog.ts'
import type { RuleDecision } from './evaluate.ts'
import { misses, type Needs, needsOf } from './needs.ts'
import type { Requested } from './requested.ts'
import { type ModeWeights, rankModels } from './score.ts'

/** What there is to choose from. */
export interface Market {
  readonly catalog: Catalog
  /** Providers with an address and a key. */
  readonly configured: ReadonlySet<string>
  readonly weights: ModeWeights
  latencyOf(model: Model): number
}

export interface Resolution {
  readonly route: Route
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
}

/** Where the request goes: what the rules ask for, else what it asks for itself (decisions: "Routing"). */
export function resolveRoute(
  requested: Requested,
  decision: RuleDecision,
  request: ChatRequest,
  market: Market,
): Resolution {
  const mode = decision.mode ?? (requested.type === 'auto' ? requested.mode : 'balance')
  const warnings = [...decision.warnings]
  let trace = decision.trace

  const skipped =
    decision.model === undefined ? undefined : whyModelIsSkipped(decision.model, decision, market)
  if (skipped !== undefined) {
    trace = markSkipped(trace, 'set_model', skipped.reason)
    warnings.push({ code: 'routing', message: skipped.message })
  }
  const model = skipped === undefined ? decision.model : undefined

  if (model !== undefined) {
    trace = markSkipped(trace, 'set_mode', 'mode_unused_model_pinned')
    const target = findTarget(model, decision.provider, market)
    return {
      route: pin(target, mode, `a routing rule set the model ${model}`, request, market),
      warnings,
      trace,
    }
  }
  if (decision.provider !== undefined) {
    const why = `a routing rule set the provider ${decision.provider}`
    return { route: choose(mode, why, request, market, decision.provider), warnings, trace }
  }
  if (decision.mode !== undefined) {
    return { route: choose(mode, `a routing rule set the mode ${mode}`, request, market), warnings, trace }
  }
  if (requested.type === 'pinned') {
    const target = findTarget(requested.model, requested.provider, market)
    return { route: pin(target, mode, 'the request named the model', request, market), warnings, trace }
  }
  return { route: choose(mode, `the request asked for the mode ${mode}`, request, market), warnings, trace }
}

/** A rule's model that cannot be used: the provider stays, the model is left out, and the caller hears of it. */
function whyModelIsSkipped(model: string, { provider }: RuleDecision, { catalog }: Market) {
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
  if (!market.configured.has(target.provider)) {
    throw new GatewayError(
      'no_providers_available',
      `The provider ${target.provider} is not configured here.`,
      {
        retryAfter: RETRY_SECONDS,
      },
    )
  }
  const missing = target.entry && misses(target.entry, needsOf(request))
  if (missing === 'response_format') {
    const message = `${target.model} cannot honour this response_format. Choose another model or leave it out.`
    throw new GatewayError('unsupported_parameter', message, { param: missing })
  }
  return { mode, targets: [target], pinned: true, reason: sentence(reason, target), score: 1 }
}

function choose(mode: Mode, why: string, request: ChatRequest, market: Market, provider?: string): Route {
  const needs = needsOf(request)
  const offered = market.catalog.models.filter(
    (model) =>
      market.configured.has(model.provider) && (provider === undefined || model.provider === provider),
  )
  if (offered.length === 0) {
    const which = provider === undefined ? 'No provider is' : `The provider ${provider} is not`
    throw new GatewayError('no_providers_available', `${which} configured here.`, {
      retryAfter: RETRY_SECONDS,
    })
  }
  const able = offered.filter((model) => misses(model, needs) === undefined)
  const ranked = rankModels(able, needs, market.weights[mode], market.latencyOf)
  const [best, ...others] = ranked
  if (best === undefined) throw nobodyIsAble(offered, needs)
  const targets: Route['targets'] = [targetOf(best.model), ...others.map(({ model }) => targetOf(model))]
  return { mode, targets, pinned: false, reason: sentence(why, targets[0]), score: best.score }
}

/** Seconds after which a provider may have been configured or come back. */
const RETRY_SECONDS = 30

function nobodyIsAble(offered: readonly Model[], needs: Needs): GatewayError {
  const missing = [...new Set(offered.map((model) => misses(model, needs)))].join(', ')
  return new GatewayError(
    'unsupported_parameter',
    `No model that may be used can serve this request: ${missing}.`,
  )
}

function targetOf(model: Model): Target {
  return { provider: model.provider, model: model.id, entry: model }
}

function sentence(why: string, { provider, model }: Target): string {
  return `${why[0]?.toUpperCase()}${why.slice(1)}: ${model} of ${provider}.`
}
