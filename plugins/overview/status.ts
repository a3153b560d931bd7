import type { OperatorScope } from '../../core/contract/index.ts'
import { isOwnPolicy } from '../../projections/operator-scope.ts'
import { HOUR_MS } from '../ledger/index.ts'
import {
  type Attention,
  checkBudgets,
  checkLog,
  checkPolicyRules,
  ledgerAway,
  UNUSED_DAYS,
} from './attention.ts'
import type { OverviewServices } from './services.ts'

const HOURS_PER_DAY = 24
type Status = Awaited<ReturnType<typeof readStatus>>

/** What concerns the groups of a scope, and the state of what they use. */
export function narrowStatus(
  { providers, attention, ...stores }: Status,
  scope: OperatorScope,
  { policies }: Pick<OverviewServices, 'policies'>,
): Status {
  const isShown = ({ user_id, group_id, rule, provider }: Attention) => {
    if (user_id !== undefined) return scope.hasUser(user_id)
    if (group_id !== undefined) return scope.hasGroup(group_id)
    if (rule === undefined) return provider !== undefined
    const policy = policies.policy(rule.origin.id)
    return policy !== undefined && isOwnPolicy(policy, scope)
  }
  return {
    ...stores,
    providers: providers.map((provider) => ({ ...provider, affected_callers: 0 })),
    attention: attention.filter(isShown),
  }
}

const SEVERITIES = ['error', 'warning', 'info']
const MAX_USED_RULES = 100_000

/** Returns the state of providers and stores, and what needs attention. */
export async function readStatus(services: OverviewServices, now = Date.now()) {
  const { subscription, evidence } = services
  const providers = showProviders(services)
  const checkpoint = await evidence.coverage().catch(() => undefined)
  const contradiction = await evidence.contradiction()
  const fromLedger = await checkWithLedger(services, now).catch((error: unknown) => [ledgerAway(error)])
  const attention = [
    ...checkProviders(services, providers),
    ...checkLog(services, checkpoint, contradiction),
    ...fromLedger,
  ]
  return {
    version: services.version,
    providers,
    event_log: { state: subscription.state(), position: subscription.position() },
    ledger: { is_available: !fromLedger.some(({ code }) => code === 'ledger_away') },
    checkpoint: checkpoint
      ? {
          size: checkpoint.size,
          time: checkpoint.time,
          age_seconds: Math.max(0, Math.round((now - Date.parse(checkpoint.time)) / 1000)),
        }
      : null,
    attention: attention.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)),
  }
}

async function checkWithLedger(services: OverviewServices, now: number): Promise<readonly Attention[]> {
  const { ledger, policies, kinds } = services
  await ledger.flush()
  const until = Math.ceil(now / HOUR_MS)
  const since = until - UNUSED_DAYS * HOURS_PER_DAY
  const query = { groupBy: ['rule' as const], since, until, limit: MAX_USED_RULES }
  const used = await ledger.usage(query)
  const rules = await checkPolicyRules(policies, kinds, used, now)
  return [...rules, ...(await checkBudgets(services, now))]
}

type ShownProvider = ReturnType<typeof showProviders>[number]

function showProviders({ providers, breakers }: OverviewServices) {
  const circuits = [...breakers.circuits()]
  const ofCallers = [...breakers.callerCircuits()]
  return providers.ids.map((provider) => {
    const own = circuits.filter((circuit) => circuit.provider === provider)
    const open = own.filter(({ state }) => state === 'open')
    const state =
      open.length > 0 ? 'open' : (own.find((each) => each.state === 'half_open')?.state ?? 'closed')
    return {
      provider,
      is_configured: providers.isAvailable(provider),
      state,
      open_models: open.map(({ model, deployment }) => (deployment ? `${model} at ${deployment}` : model)),
      affected_callers: ofCallers.filter((circuit) => circuit.provider === provider).length,
    }
  })
}

function checkProviders(
  { providers }: OverviewServices,
  shown: readonly ShownProvider[],
): readonly Attention[] {
  const found: Attention[] = []
  if (providers.usesSandbox) {
    const message = 'No provider has a key, so the sandbox answers. Set one, such as OPENAI_API_KEY.'
    found.push({ code: 'sandbox', severity: 'warning', message })
  }
  for (const { provider, is_configured, open_models } of shown) {
    if (open_models.length > 0) {
      const message = `${provider} is failing: the circuit is open for ${open_models.join(', ')}.`
      found.push({ code: 'circuit_open', severity: 'error', message, provider })
    }
    if (!is_configured && !providers.usesSandbox) {
      const message = `${provider} has no API key, so none of its models is used.`
      found.push({ code: 'provider_key_missing', severity: 'info', message, provider })
    }
  }
  return found
}
