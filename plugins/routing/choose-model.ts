import {
  type ChatRequest,
  GatewayError,
  type Mode,
  type Model,
  type Route,
  type Target,
} from '../../core/contract/index.ts'
import { costOf } from '../../core/util/cost.ts'
import { findMissingCapability, type Requirements, requirementsOf } from './requirements.ts'
import type { RoutingCatalog, ScoreWeights } from './routing-catalog.ts'

/** A route to one model that somebody named. */
export function buildFixedRoute(
  target: Target,
  mode: Mode,
  reason: string,
  request: ChatRequest,
  market: RoutingCatalog,
): Route {
  const capabilities = market.capabilitiesOf(target.provider)
  if (capabilities === undefined) throw notConfigured(target.provider)
  if (
    request.response_format &&
    findMissingCapability(target.entry, capabilities, requirementsOf(request)) === 'response_format'
  ) {
    const message = `${target.model} cannot honour this response_format. Choose another model or leave it out.`
    throw new GatewayError('unsupported_parameter', message, { param: 'response_format' })
  }
  const candidates = () => findCandidates(request, market).able
  return { mode, targets: [target], isFixed: true, candidates, reason: sentence(reason, target), score: 1 }
}

/** What an automatic choice is made on. */
interface Choice {
  readonly request: ChatRequest
  /** Names of models to put first. */
  readonly preferences: readonly string[]
  /** The only provider to choose from. */
  readonly provider?: string
}

/** A route over every model that can serve the request, best first for the mode (docs/routing.md, "Automatic choice"). */
export function buildAutomaticRoute(mode: Mode, why: string, choice: Choice, market: RoutingCatalog): Route {
  const { able, needs } = findCandidates(choice.request, market, choice.provider)
  const ranked = rankModels(able.filter(market.isUsable), needs, market.weights[mode], market.latencyOf)
  const preferred = choice.preferences.flatMap((name) => ranked.filter(({ model }) => isNamed(model, name)))
  const [best, ...others] = new Set([...preferred, ...ranked])
  if (best === undefined) throw allAreResting()
  const targets: Route['targets'] = [targetOf(best.model), ...others.map(({ model }) => targetOf(model))]
  const reason = sentence(preferred.length > 0 ? 'the caller prefers it' : why, targets[0])
  return { mode, targets, isFixed: false, candidates: () => able, reason, score: best.score }
}

/** The target of a model's name. With a provider, a name that is not catalogued is passed to it as it stands. */
export function findTarget(name: string, provider: string | undefined, { catalog }: RoutingCatalog): Target {
  const entry = catalog.find(name, provider)
  if (entry !== undefined) return targetOf(entry, name)
  if (provider !== undefined) return { provider, model: name }
  throw new GatewayError('model_not_found', `The model ${name} does not exist here.`, { param: 'model' })
}

/** The models that can serve the request, not empty; throws when there are none. */
function findCandidates(
  request: ChatRequest,
  { catalog, capabilitiesOf }: RoutingCatalog,
  provider?: string,
) {
  const needs = requirementsOf(request)
  const missing = (model: Model) => findMissingCapability(model, capabilitiesOf(model.provider), needs)
  const offered = catalog.models.filter(
    (model) => capabilitiesOf(model.provider) && (provider === undefined || model.provider === provider),
  )
  if (offered.length === 0) throw notConfigured(provider)
  const able = offered.filter((model) => missing(model) === undefined)
  if (able.length === 0) throw nobodyIsAble(offered.map(missing))
  return { able, needs }
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

/** A model as a target, by one of its names; made once, so that thousands of requests that are remembered share them. */
function targetOf(model: Model, name: string = model.id): Target {
  const known = targets.get(model) ?? new Map<string, Target>()
  targets.set(model, known)
  let target = known.get(name)
  if (target === undefined) {
    const { provider, id } = model
    target = { provider, model: id, ...(name !== id && { alias: name }), entry: model }
    known.set(name, target)
  }
  return target
}

/** By what they are called: there are never more than the catalogue has names. */
const targets = new WeakMap<Model, Map<string, Target>>()

/** The same for what is said of a catalogued model: reasons are few. */
function sentence(why: string, target: Target): string {
  const known = target.entry && reasonsOf(target)
  let text = known?.get(why)
  if (text === undefined) {
    text = `${why[0]?.toUpperCase()}${why.slice(1)}: ${target.model} of ${target.provider}.`
    known?.set(why, text)
  }
  return text
}

function reasonsOf(target: Target): Map<string, string> {
  const known = reasons.get(target) ?? new Map<string, string>()
  reasons.set(target, known)
  return known
}

const reasons = new WeakMap<Target, Map<string, string>>()

interface Scored {
  readonly model: Model
  /** 0 to 1. */
  readonly score: number
}

/**
 * The candidates, best first; equal scores by id. Each figure is set on 0..1 between the worst and the best candidate:
 * cost and latency by ratio, for twice the price is as much of a step from 1 to 2 as from 10 to 20; quality linearly.
 */
export function rankModels(
  candidates: readonly Model[],
  needs: Requirements,
  weights: ScoreWeights,
  latencyOf: (model: Model) => number,
): readonly Scored[] {
  const usage = { input: needs.inputTokens, output: needs.outputTokens }
  const cost = scaleBetween(candidates.map((model) => Math.log(costOf(model, usage) + Number.MIN_VALUE)))
  const latency = scaleBetween(candidates.map((model) => Math.log(latencyOf(model))))
  const quality = scaleBetween(candidates.map((model) => -model.quality))
  const total = weights.cost + weights.quality + weights.latency
  return candidates
    .map((model, place) => {
      const sum =
        weights.cost * (cost[place] ?? 0) +
        weights.quality * (quality[place] ?? 0) +
        weights.latency * (latency[place] ?? 0)
      return { model, score: sum / total }
    })
    .sort((a, b) => b.score - a.score || compare(a.model.id, b.model.id))
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

/** 1 for the lowest figure, 0 for the highest, 1 for all when they are equal. */
function scaleBetween(figures: readonly number[]): readonly number[] {
  const lowest = Math.min(...figures)
  const span = Math.max(...figures) - lowest
  return figures.map((figure) => (span === 0 ? 1 : 1 - (figure - lowest) / span))
}
