import type { Logger } from 'pino'
import {
  definePlugin,
  type Exchange,
  GatewayError,
  type RuleSet,
  type RuleTraceEntry,
  settingsOf,
} from '../../core/contract/index.ts'
import { PatternLimitError, PatternRun } from '../../core/patterns/pattern-run.ts'
import {
  type CompiledCacheOptions,
  compiledCacheOptions,
  createCompiledCache,
  createLookupCounter,
} from '../../core/util/compiled-cache.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { describeThrower } from '../../core/util/plugin-context.ts'
import { GatewayState } from '../../projections/state.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { connectLearnedRouting, LearnedRouting } from '../learned-routing/index.ts'
import { keptEntryOf } from '../ledger/index.ts'
import { createRuleEndpoints, findJudgedRequest, forEachRuleSet, RuleScopes } from '../rules/index.ts'
import { compileRouting } from './compile.ts'
import { evaluateRouting, type RuleDecision, startDecision } from './evaluate.ts'
import type { StickyChoice } from './kept-model.ts'
import { resolveOperationRoute } from './operation-route.ts'
import { builtInConditions, createBuiltInActions } from './operators.ts'
import { buildRoutingInput, knownNames, parseRequestedModel } from './requested-model.ts'
import { buildDemand, traceExcluded } from './require-action.ts'
import { resolveRoute } from './resolve-route.ts'
import { RoutingCatalog } from './routing-catalog.ts'
import { createSplitAction } from './split-action.ts'
import { createStickyChoices } from './sticky-choices.ts'

/**
 * Sets the route of a request from the routing rules of policies and of the user, and the requested model;
 * serves `/v1/routing-rules`.
 */
export default definePlugin({
  name: 'routing',
  after: ['auth', 'plan'],
  before: ['dispatch'],
  options: compiledCacheOptions,
  replay: { type: 'recorded' },
  uses: {
    rules: RuleScopes,
    catalog: RoutingCatalog,
    providers: Providers,
    state: GatewayState,
    learned: LearnedRouting,
    settings: settingsOf<{ readonly sticky: { readonly seconds: number } }>('routing'),
  },
  async setup(options: CompiledCacheOptions, { use, operators, metrics, logger, store }) {
    const { kinds, own } = use.rules
    const { catalog: routingCatalog } = use
    const names = knownNames(routingCatalog, use.providers.known)
    const assessPrompt = await connectLearnedRouting(use.learned, metrics, logger)
    const sticky = createStickyChoices(use.settings.sticky, store)
    const compile = (rules: RuleSet) => compileRouting(rules, operators)
    const getCompiled = createCompiledCache(
      compile,
      options,
      ({ routing }) => routing.length,
      createLookupCounter(metrics, 'routing'),
    )
    return {
      decide(exchange) {
        const { account, request, preferences, parameterNames } = exchange
        const requested = parseRequestedModel(request.model, names)
        const mode = requested.type === 'auto' ? requested.mode : 'balance'
        const input = buildRoutingInput(account, request, mode, exchange.id, exchange.headers)
        const decision = startDecision(input)
        if (!exchange.isSimulated)
          decision.onFailure = (ruleId, err) => logFailure(ruleId, err, exchange.id, logger)
        const resolve = (conversation: StickyChoice | undefined) => {
          const { userId, models } = account
          const { operation = 'chat' } = exchange
          const assessment = operation === 'chat' ? assessPrompt?.(exchange) : undefined
          const { requirements } = decision.draft
          const demand = buildDemand(requirements)
          if (demand !== undefined) exchange.requires = demand.requirement
          const caller = {
            userId,
            preferences,
            ...(models && { models }),
            ...(parameterNames && { parameterNames }),
            ...(assessment && { assessment }),
            ...(demand && { demand }),
            ...(conversation && { conversation }),
          }
          const find = () =>
            operation === 'chat'
              ? resolveRoute(requested, decision, caller, routingCatalog)
              : resolveOperationRoute(requested, decision, { ...caller, operation }, routingCatalog)
          const addExcluded = (trace: readonly RuleTraceEntry[]) =>
            traceExcluded(trace, demand, requirements, routingCatalog)
          const { route, warnings, trace } = traceRefusal(exchange, decision, find, addExcluded)
          exchange.request = decision.draft.request
          Object.assign(exchange.state, decision.draft.state)
          exchange.route = route
          exchange.warnings.push(...warnings)
          exchange.trace.push(...addExcluded(trace))
          if (route.kept !== undefined) exchange.trace.push(keptEntryOf(route.targets[0]))
        }
        const judgedBy = (rules: RuleSet) => {
          const judged = findJudgedRequest(exchange, rules)
          return judged && buildRoutingInput(account, judged, mode, exchange.id, exchange.headers)
        }
        const createRun = () =>
          new PatternRun({ owner: account.userId, client: exchange.client, cpuLimitMs: MAX_SEARCH_CPU_MS })
        const evaluate = (rules: RuleSet) =>
          chain(getCompiled(rules), (compiled) =>
            evaluateWithinLimit(compiled, input, createRun, decision, judgedBy(rules)),
          )
        const open = () => sticky.open(exchange, requested, decision.draft)
        return chain(forEachRuleSet(exchange, evaluate), () => chain(open(), resolve))
      },
      ...(sticky.inspect && { inspect: sticky.inspect }),
      endpoints: createRuleEndpoints(kinds.routing, own),
      conditions: builtInConditions,
      actions: [
        ...createBuiltInActions(use.providers.known),
        createSplitAction(routingCatalog.catalog, use.state.logId),
      ],
    }
  },
})

function logFailure(ruleId: number, err: unknown, requestId: string, logger: Logger): void {
  const fields = { err, ...describeThrower(err), requestId, rule: `routing:${ruleId}` }
  logger.error(fields, 'a routing rule could not be evaluated')
}

/** The trace of a request that has no route says which rules were the reason. */
function traceRefusal<Result>(
  { trace }: Exchange,
  decision: RuleDecision,
  resolve: () => Result,
  complete: (trace: readonly RuleTraceEntry[]) => readonly RuleTraceEntry[],
): Result {
  try {
    return resolve()
  } catch (error) {
    trace.push(...complete(decision.trace))
    throw error
  }
}

/** CPU time of the search for `contains`, in a pattern worker. */
const MAX_SEARCH_CPU_MS = 2000

/** Adds to the decision of `evaluateRouting`. */
function evaluateWithinLimit(...args: Parameters<typeof evaluateRouting>): MaybePromise<void> {
  const decision = evaluateRouting(...args)
  if (decision instanceof Promise) return decision.then(noop, throwLimitError)
}

const noop = () => undefined

function throwLimitError(error: unknown): never {
  if (!(error instanceof PatternLimitError)) throw error
  const message =
    'The routing rules could not be evaluated within their time limit. ' +
    'Shorten the texts of "contains", or the prompt.'
  throw new GatewayError('refused', message, { cause: error })
}
