import { Counter, type Registry } from 'prom-client'
import {
  type Exchange,
  endpoint,
  type FirewallRule,
  GatewayError,
  type Plugin,
  type RuleSet,
  type Static,
  StrictObject,
  StringEnum,
  Type,
  user,
} from '../../core/contract/index.ts'
import type { FirewallContent } from '../../core/events/domain-events.ts'
import { PatternLimitError, PatternRun, scaleCpuLimit } from '../../core/pcre/pattern-run.ts'
import { listPresets } from '../../core/pcre/presets/presets.ts'
import {
  compiledCacheOptions,
  createCompiledCache,
  createLookupCounter,
} from '../../core/util/compiled-cache.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import { createRuleEndpoints, type RuleEndpointServices } from '../rules/endpoints.ts'
import { type CompiledFirewall, compileFirewall } from './compile.ts'
import { evaluateFirewall, type FirewallOutcome, type FirewallRefusal } from './evaluate.ts'
import { FirewallPresetList } from './schemas.ts'

/** Applies the user's firewall rules before a request goes to a provider; serves `/v1/firewall-rules`. */
export function createFirewall(services: RuleEndpointServices<FirewallRule, FirewallContent>): Plugin {
  return {
    name: 'firewall',
    after: ['auth', 'plan'],
    options: firewallOptions,
    setup(options: FirewallOptions, { logger, metrics }) {
      const { on_timeout: onTimeout, cpu_ms: cpuMs } = options
      const { countUnusable, countUnfinished } = createPatternCounters(metrics)
      const compile = async (rules: RuleSet) => {
        const firewall = await compileFirewall(rules).catch(refuseUncompiled)
        countUnusable(firewall.unusableCount)
        return firewall
      }
      const getCompiled = createCompiledCache(
        compile,
        options,
        ({ firewall }) => firewall.length,
        createLookupCounter(metrics, 'firewall'),
      )
      function apply(outcome: FirewallOutcome, exchange: Exchange): void {
        const { request, warnings, trace, unfinished, refusal } = outcome
        exchange.request = request
        exchange.warnings.push(...warnings)
        exchange.trace.push(...trace)
        if (unfinished.length > 0) {
          countUnfinished(unfinished.length)
          const { id: requestId, account } = exchange
          const rules = unfinished.map(({ id }) => id)
          logger.warn(
            { requestId, user: account.userId, rules },
            'firewall patterns exceeded their time limit',
          )
        }
        if (refusal !== undefined) throw refusedError(refusal)
      }
      function evaluate(firewall: CompiledFirewall, { account, client, request }: Exchange) {
        return evaluateFirewall(firewall, request, {
          onTimeout,
          createRun: (textLength) =>
            new PatternRun({ owner: account.userId, client, cpuLimitMs: scaleCpuLimit(cpuMs, textLength) }),
        })
      }
      return {
        decide: (exchange) =>
          chain(getCompiled(exchange.rules), (firewall) =>
            chain(evaluate(firewall, exchange), (outcome) => apply(outcome, exchange)),
          ),
        endpoints: [...createRuleEndpoints(services), presetEndpoint],
      }
    },
  }
}

/**
 * `on_timeout`: what happens to a request if the pattern of a blocking or masking rule does not finish.
 * `cpu_ms`: CPU time in the pattern workers for a request; increases with its text.
 */
const firewallOptions = StrictObject({
  ...compiledCacheOptions.properties,
  on_timeout: StringEnum(['refuse', 'allow'], { default: 'refuse' }),
  cpu_ms: Type.Integer({ minimum: 10, maximum: 60_000, default: 500 }),
})

type FirewallOptions = Static<typeof firewallOptions>

const presetEndpoint = endpoint({
  method: 'GET',
  path: '/v1/firewall-presets',
  access: user(),
  operationId: 'listFirewallPresets',
  summary: 'Lists the curated patterns that firewall rules of the type preset refer to.',
  tags: ['rules'],
  responses: { 200: { description: 'All presets.', body: FirewallPresetList } },
  handle: () => ({ status: 200, body: { data: listPresets() } }),
})

/** Without its rules no request may pass. */
function refuseUncompiled(cause: unknown): never {
  if (!(cause instanceof PatternLimitError)) throw cause
  const message = 'The firewall rules could not be compiled within their time limit. Shorten their patterns.'
  throw new GatewayError('firewall_timeout', message, { cause })
}

/** A refusal has the body of a block; its code tells a pattern that did not finish. */
function refusedError({ rule: { id, name }, reason }: FirewallRefusal): GatewayError {
  const code = reason === 'unfinished' ? 'firewall_timeout' : 'firewall_blocked'
  return new GatewayError(code, REFUSAL_MESSAGES[reason](name), { meta: { rule_id: id } })
}

const REFUSAL_MESSAGES: Readonly<Record<FirewallRefusal['reason'], (name: string) => string>> = {
  blocked: (name) => `Request blocked by firewall rule "${name}".`,
  not_maskable: (name) =>
    `Request blocked by firewall rule "${name}": it matches text that cannot be masked, such as a number ` +
    'in place of a parameter, or text across several JSON values.',
  unfinished: (name) =>
    `Request blocked by firewall rule "${name}": its pattern exceeded the time limit, or the masked text ` +
    'its size limit. Simplify the pattern or shorten the text.',
}

/** Counts patterns that were not evaluated, so that operators notice. */
function createPatternCounters(metrics: Registry) {
  const unusable = new Counter({
    name: 'signalbox_firewall_unusable_patterns_total',
    help: 'Firewall rules left out at compilation because their pattern cannot be evaluated.',
    registers: [metrics],
  })
  const unfinished = new Counter({
    name: 'signalbox_firewall_overruns_total',
    help: 'Firewall rules whose pattern did not finish within the limits of a request.',
    registers: [metrics],
  })
  return {
    countUnusable: (count: number) => unusable.inc(count),
    countUnfinished: (count: number) => unfinished.inc(count),
  }
}
