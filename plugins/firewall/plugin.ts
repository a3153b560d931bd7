import { Counter, type Registry } from 'prom-client'
import {
  definePlugin,
  type Exchange,
  endpoint,
  type FirewallRule,
  isJsonObject,
  operator,
  type RepliedExchange,
  type ReplyTransform,
  type RuleSet,
  type Static,
  StrictObject,
  StringEnum,
  settingsOf,
  slot,
  Type,
  user,
} from '../../core/contract/index.ts'
import { PatternLimitError, PatternRun, scaleCpuLimit } from '../../core/patterns/pattern-run.ts'
import { listPresets } from '../../core/pcre/presets/presets.ts'
import {
  compiledCacheOptions,
  createCompiledCache,
  createLookupCounter,
} from '../../core/util/compiled-cache.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { createRuleEndpoints, forEachRuleSet, keepJudgedRequest, RuleScopes } from '../rules/index.ts'
import { createBeginningSearch } from './beginnings.ts'
import { type CompiledFirewall, compileFirewall } from './compile.ts'
import type { EvaluationOptions, FirewallOutcome } from './evaluate.ts'
import { RequestMasks, ResponseRules, ToolFirewall, type ToolFirewallCaller } from './index.ts'
import { inspectStream, inspectWholeReply } from './inspect-reply.ts'
import type { ResponseFirewall } from './inspected-text.ts'
import { createPatternTestEndpoints } from './pattern-test.ts'
import { recordOutcome } from './record-outcome.ts'
import { FIREWALL_ERROR_CODES, firewallError, toRefusalError } from './refusal.ts'
import { createReplyReport, type ReplyReport } from './reply-report.ts'
import { RuleWalk } from './rule-walk.ts'
import { FirewallPresetList } from './schemas.ts'
import { createToolFirewall } from './tool-firewall.ts'

interface FirewallSettings {
  /** Whether rules with the scope `response` are in force. */
  readonly evaluate_responses: boolean
}

const firewallOptions = StrictObject({
  ...compiledCacheOptions.properties,
  on_timeout: StringEnum(['refuse', 'allow'], { default: 'refuse' }),
  cpu_ms: Type.Integer({ minimum: 10, maximum: 60_000, default: 500 }),
  hold_back_chars: Type.Integer({ minimum: 16, maximum: 65_536, default: 2000 }),
})

type FirewallOptions = Static<typeof firewallOptions>

/**
 * Applies the firewall rules of policies and of the user before a request goes to a provider, and to its
 * reply; serves `/v1/firewall-rules`.
 */
export default definePlugin({
  name: 'firewall',
  after: ['auth', 'plan'],
  options: firewallOptions,
  replay: { type: 'pure' },
  uses: { rules: RuleScopes, settings: settingsOf<FirewallSettings>('firewall') },
  provides: [RequestMasks, ResponseRules, ToolFirewall],
  setup(options: FirewallOptions, { use, provide, logger, metrics }) {
    const { kinds, own } = use.rules
    const { evaluate_responses: evaluatesResponses } = use.settings
    const { on_timeout: onTimeout, cpu_ms: cpuMs, hold_back_chars: holdBackChars } = options
    function reportUnusable({ ownerId, origin }: RuleSet, unusable: readonly FirewallRule[]): void {
      if (unusable.length === 0) return
      for (const { action } of unusable) countUnusable(action)
      const owner = origin === undefined ? { user: ownerId } : { policy: ownerId }
      const ids = unusable.map(({ id }) => id)
      logger.warn({ ...owner, rules: ids }, 'firewall rules never match: their patterns cannot be evaluated')
    }
    const { countUnusable, countUnfinished } = createPatternCounters(metrics)
    const getCompiled = createCompiledCache(
      async (rules: RuleSet) => {
        const firewalls = await compileFirewalls(rules, evaluatesResponses)
        const { prompt, response } = firewalls
        reportUnusable(rules, [...prompt.unusable, ...(response?.unusable ?? [])])
        return firewalls
      },
      options,
      ({ firewall }) => firewall.length,
      createLookupCounter(metrics, 'firewall'),
    )

    const getCompiledForTools = createCompiledCache(
      async (rules: RuleSet) => {
        const firewalls = await compileToolFirewalls(rules)
        reportUnusable(rules, [...firewalls.tool_call.unusable, ...firewalls.tool_result.unusable])
        return firewalls
      },
      options,
      countToolRules,
      createLookupCounter(metrics, 'firewall_tools'),
    )

    function logUnfinished(
      { id: requestId, traceId, account }: Partial<Exchange> & Pick<Exchange, 'account'>,
      rules: readonly FirewallRule[],
    ): void {
      countUnfinished(rules.length)
      const ids = rules.map(({ id }) => id)
      logger.warn(
        { requestId, traceId, user: account.userId, rules: ids },
        'firewall patterns exceeded their time limit',
      )
    }
    function report(exchange: Exchange, outcome: FirewallOutcome, isAgain: boolean): void {
      const { unfinished, refusal } = outcome
      recordOutcome(exchange, outcome, isAgain)
      if (unfinished.length > 0) logUnfinished(exchange, unfinished)
      if (refusal !== undefined) throw toRefusalError(refusal)
    }
    const toEvaluation = ({ account, client, policies }: ToolFirewallCaller): EvaluationOptions => ({
      onTimeout,
      shared: policies.length > 0 ? {} : undefined,
      createRun: (textLength) =>
        new PatternRun({ owner: account.userId, client, cpuLimitMs: scaleCpuLimit(cpuMs, textLength) }),
    })

    /** Evaluates the rules of one owner, and keeps the request as they leave it for its routing rules. */
    function visit(exchange: Exchange, walk: RuleWalk, rules: RuleSet): MaybePromise<void> {
      return chain(getCompiled(rules), ({ prompt, response }) => {
        if (response !== undefined) stateOf(exchange).responseFirewalls.push(response)
        return chain(walk.visit(prompt, exchange.request), (request): MaybePromise<void> => {
          exchange.request = request
          if (rules.origin !== undefined) keepJudgedRequest(exchange, rules)
        })
      })
    }

    /** A response repeats the metadata of its request, and may be stored. */
    function maskMetadata(exchange: Exchange, walk: RuleWalk): MaybePromise<void> {
      const { metadata, request } = exchange
      if (metadata === undefined || !walk.hasMasks) return
      if (request.store === true && isJsonObject(request.metadata)) exchange.metadata = request.metadata
      else
        return chain(walk.maskUnsent(metadata), (masked): MaybePromise<void> => {
          exchange.metadata = masked
        })
    }

    const settle = (exchange: Exchange, walk: RuleWalk): MaybePromise<void> =>
      chain(walk.settle(exchange.request), (request): MaybePromise<void> => {
        exchange.request = request
      })

    function inspectReply(exchange: RepliedExchange, isAgain: boolean): ReplyTransform | undefined {
      const state = stateOf(exchange)
      if (state.responseFirewalls.length === 0) return undefined
      state.report ??= createReplyReport(exchange, onTimeout, (rules) => logUnfinished(exchange, rules))
      const { report } = state
      const options = { evaluation: toEvaluation(exchange), report, cpuMs, holdBackChars, isAgain }
      const inspect = exchange.reply.type === 'whole' ? inspectWholeReply : inspectStream
      return inspect(state.responseFirewalls, options)
    }

    const inspect = (exchange: RepliedExchange) => inspectReply(exchange, false)
    provide(RequestMasks, (exchange) => {
      const { walk } = stateOf(exchange)
      return walk?.hasMasks ? (messages) => walk.maskRecorded(messages) : undefined
    })
    provide(ResponseRules, evaluatesResponses ? inspect : undefined)
    provide(
      ToolFirewall,
      createToolFirewall({
        compiled: (rules, scope) =>
          scope === 'prompt'
            ? chain(getCompiled(rules), ({ prompt }) => prompt)
            : chain(getCompiledForTools(rules), (firewalls) => firewalls[scope]),
        toEvaluation,
        logUnfinished,
      }),
    )
    return {
      errorCodes: FIREWALL_ERROR_CODES,
      decide(exchange) {
        const walk = new RuleWalk(toEvaluation(exchange), (outcome, isAgain) =>
          report(exchange, outcome, isAgain),
        )
        const visited = forEachRuleSet(exchange, (rules) => visit(exchange, walk, rules))
        return chain(visited, (): MaybePromise<void> => {
          if (walk.isEmpty) return
          stateOf(exchange).walk = walk
          return chain(settle(exchange, walk), () => maskMetadata(exchange, walk))
        })
      },
      confirm(exchange) {
        const { walk } = stateOf(exchange)
        return walk && settle(exchange, walk)
      },
      ...(evaluatesResponses && {
        inspect,
        confirmReply: (exchange) => inspectReply(exchange, true),
      }),
      endpoints: [
        ...createRuleEndpoints(kinds.firewall, own),
        ...presetEndpoints,
        ...createPatternTestEndpoints(cpuMs),
      ],
    }
  },
})

interface FirewallState {
  walk?: RuleWalk
  readonly responseFirewalls: ResponseFirewall[]
  report?: ReplyReport
}

/** What the phases share. A WeakMap would keep whole requests until all garbage is collected. */
const firewallState = slot<FirewallState>('firewall')

function stateOf(exchange: Pick<Exchange, 'state'>): FirewallState {
  const found = firewallState.of(exchange)
  if (found !== undefined) return found
  const created: FirewallState = { responseFirewalls: [] }
  firewallState.set(exchange, created)
  return created
}

/** The rules of one owner, of both scopes. */
interface CompiledFirewalls {
  readonly prompt: CompiledFirewall
  /** Undefined if there are no rules to evaluate. */
  readonly response: ResponseFirewall | undefined
}

function countToolRules({ firewall }: RuleSet): number {
  let count = 0
  for (const { scope } of firewall) if (scope === 'tool_call' || scope === 'tool_result') count += 1
  return count
}

async function compileToolFirewalls(rules: RuleSet) {
  try {
    return {
      tool_call: await compileFirewall(rules, 'tool_call'),
      tool_result: await compileFirewall(rules, 'tool_result'),
    }
  } catch (error) {
    return refuseUncompiled(error)
  }
}

async function compileFirewalls(rules: RuleSet, evaluatesResponses: boolean): Promise<CompiledFirewalls> {
  try {
    const prompt = await compileFirewall(rules, 'prompt')
    if (!evaluatesResponses) return { prompt, response: undefined }
    const response = await compileFirewall(rules, 'response')
    if (response.rules.length === 0) return { prompt, response: undefined }
    return { prompt, response: { ...response, beginnings: await createBeginningSearch(response.rules) } }
  } catch (error) {
    return refuseUncompiled(error)
  }
}

/**
 * `on_timeout`: what happens to a request if the pattern of a blocking or masking rule does not finish.
 * `cpu_ms`: CPU time in the pattern workers for a request; increases with its text. `hold_back_chars`: how
 * much of a streamed reply may be held back because it could become a match.
 */
const presetList = {
  method: 'GET',
  summary: 'Lists the curated patterns that firewall rules of the type preset refer to.',
  tags: ['rules'],
  responses: { 200: { description: 'All presets.', body: FirewallPresetList } },
  handle: () => ({ status: 200, body: { data: listPresets() } }),
} as const

const presetEndpoints = [
  endpoint({
    ...presetList,
    path: '/v1/firewall-presets',
    access: user(),
    operationId: 'listFirewallPresets',
  }),
  endpoint({
    ...presetList,
    path: '/admin/firewall-presets',
    access: operator('auditor', 'whole'),
    operationId: 'listFirewallPresetsForOperators',
  }),
]

/** Without its rules no request may pass. */
function refuseUncompiled(cause: unknown): never {
  if (!(cause instanceof PatternLimitError)) throw cause
  const message = 'The firewall rules could not be compiled within their time limit. Shorten their patterns.'
  throw firewallError('firewall_timeout', message, { cause })
}

/** Counts patterns that were not evaluated, so that operators notice. */
function createPatternCounters(metrics: Registry) {
  const unusable = new Counter({
    name: 'signalbox_firewall_unusable_patterns_total',
    help: 'Firewall rules left out at compilation because their pattern cannot be evaluated.',
    labelNames: ['action'],
    registers: [metrics],
  })
  // An increase from no sample to the first one is not an increase to Prometheus.
  for (const action of ['block', 'mask', 'warn']) unusable.inc({ action }, 0)
  const unfinished = new Counter({
    name: 'signalbox_firewall_overruns_total',
    help: 'Firewall rules whose pattern did not finish within the limits of a request.',
    registers: [metrics],
  })
  return {
    countUnusable: (action: FirewallRule['action']) => unusable.inc({ action }),
    countUnfinished: (count: number) => unfinished.inc(count),
  }
}
