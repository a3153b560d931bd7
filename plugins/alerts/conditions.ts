import type { RecordStore } from '../../core/contract/index.ts'
import type { GatewayState } from '../../projections/state.ts'
import type { CircuitBreakers } from '../../providers/shared/circuit.ts'
import { readBudgetShares } from '../budget/index.ts'
import type { Ledger } from '../ledger/index.ts'
import { DAY_MS } from '../ledger/index.ts'
import type { ToolServerContacts, ToolServerState } from '../mcp/index.ts'
import type { Finding } from './events.ts'
import type { Alert, Condition } from './settings.ts'

export interface ConditionServices extends Pick<GatewayState, 'accounts' | 'approvals' | 'evidence'> {
  readonly groups: GatewayState['groups']
  readonly operators: GatewayState['operators']
  readonly overallBudget: GatewayState['overallBudget']
  readonly ledger: Ledger
  readonly breakers: Pick<CircuitBreakers, 'circuits'>
  readonly providers: readonly string[]
  readonly toolServers: ToolServerState | undefined
  readonly contacts: ToolServerContacts | undefined
  readonly store: Pick<RecordStore, 'get'>
}

/**
 * Under which a process tells others what it knows. See docs/decisions/alerts.md, "Circuits are told through
 * the shared state".
 */
export function localKey(condition: string, subject: string): string {
  return `${condition}:${subject}`
}

export function createConditions(services: ConditionServices): Readonly<Record<string, Condition>> {
  const { accounts, operators, approvals, evidence, ledger, store } = services

  async function findLocal(
    name: string,
    subjects: readonly string[],
    local: () => ReadonlyMap<string, string>,
  ): Promise<readonly Finding[]> {
    const own = local()
    const texts = await Promise.all(
      subjects.map((subject) => own.get(subject) ?? store.get(localKey(name, subject))),
    )
    return subjects.flatMap((subject, index) => {
      const text = texts[index]
      return typeof text === 'string' ? [{ subject, text }] : []
    })
  }

  const failingProviders = () => toTexts(services.breakers.circuits())
  const failingServers = () => {
    const down = [...(services.contacts?.contacts() ?? [])].filter(({ isUp }) => !isUp)
    return new Map(down.map(({ server }) => [server, `The tool server ${server} does not answer.`]))
  }

  async function findRate(
    { atLeast, overSeconds, minRequests }: Alert,
    now: number,
    verb: 'were blocked' | 'failed',
  ): Promise<readonly Finding[]> {
    await ledger.flush()
    const stepMs = overSeconds * 1000
    const points = await ledger.series({ since: now - stepMs, until: now, stepMs })
    const sum = (read: (point: (typeof points)[number]) => number) =>
      points.reduce((total, point) => total + read(point), 0)
    const requests = sum((point) => point.requests)
    const blocks = sum((point) => point.blocks ?? 0)
    const counted = verb === 'failed' ? Math.max(0, sum(({ errors }) => errors) - blocks) : blocks
    if (requests < minRequests || counted / requests < atLeast) return []
    const percent = Math.floor((counted / requests) * 100)
    const text = `${percent} % of ${requests} requests within ${overSeconds} seconds ${verb}.`
    return [{ subject: 'requests', text }]
  }

  return {
    budget_share: {
      ...{ atLeast: 0.8, repeatAfterHours: 24 },
      describe: ({ atLeast }) => `At least ${toPercent(atLeast)} of a budget is spent.`,
      async find({ atLeast }, now) {
        await ledger.flush()
        const shares = await readBudgetShares(services, now)
        return shares
          .filter(({ share }) => share >= atLeast)
          .map(({ id, title, percent, budget: { limitUsd, period } }) => ({
            subject: id,
            text: `${percent} of the budget of ${title} is spent (${limitUsd} USD, ${period}).`,
          }))
      },
    },
    blocked_rate: {
      atLeast: 0.2,
      describe: (alert) => describeRate(alert, 'are blocked'),
      find: (alert, now) => findRate(alert, now, 'were blocked'),
    },
    error_rate: {
      atLeast: 0.1,
      describe: (alert) => describeRate(alert, 'fail'),
      find: (alert, now) => findRate(alert, now, 'failed'),
    },
    provider_down: {
      describe: () => 'A provider has a model whose circuit is not closed.',
      find: () => findLocal('provider_down', services.providers, failingProviders),
      local: failingProviders,
    },
    tool_server_down: {
      describe: () => 'A tool server did not answer the last request.',
      find: () =>
        findLocal(
          'tool_server_down',
          (services.toolServers?.list() ?? []).map(({ name }) => name),
          failingServers,
        ),
      local: failingServers,
    },
    log_contradiction: {
      describe: () => 'The event log differs from what was signed.',
      async find() {
        const found = await evidence.contradiction()
        if (found === undefined) return []
        const text = `${found.reason} Nothing is signed. Run "signalbox log verify".`
        return [{ subject: 'event-log', text }]
      },
    },
    key_expiring: {
      repeatAfterHours: 24,
      describe: ({ withinDays }) =>
        `A key of a user or operator expires within ${withinDays === 1 ? 'a day' : `${withinDays} days`}.`,
      async find({ withinDays }, now) {
        const until = now + withinDays * DAY_MS
        return [...listUserKeys(accounts), ...listOperatorKeys(operators)]
          .filter(({ expiresAt }) => Date.parse(expiresAt) > now && Date.parse(expiresAt) <= until)
          .map(({ id, title, expiresAt }) => ({
            subject: `${id}:${expiresAt}`,
            text: `The key ${title} expires at ${expiresAt}.`,
          }))
      },
    },
    approvals_pending: {
      atLeast: 1,
      describe: ({ atLeast }) => `At least ${describeWaiting(atLeast)}`,
      async find({ atLeast }) {
        const pending = approvals.pending()
        return pending < atLeast ? [] : [{ subject: 'approvals', text: describeWaiting(pending) }]
      },
    },
  }
}

/** A share as the settings have it, without the digits that a product of fractions adds. */
const toPercent = (share: number) => `${Number((share * 100).toFixed(2))} %`

function describeRate(alert: Omit<Alert, 'condition'>, verb: 'are blocked' | 'fail'): string {
  const { atLeast, minRequests, overSeconds } = alert
  const requests = minRequests === 1 ? '1 request' : `${minRequests} requests`
  return `At least ${toPercent(atLeast)} of ${requests} or more within ${overSeconds} seconds ${verb}.`
}

const describeWaiting = (count: number) =>
  `${count === 1 ? '1 tool call waits' : `${count} tool calls wait`} for an approval.`

/** A circuit that is half open has not recovered either. */
function toTexts(circuits: ReturnType<CircuitBreakers['circuits']>): ReadonlyMap<string, string> {
  const models = new Map<string, string[]>()
  for (const { provider, model, deployment, state } of circuits) {
    if (state === 'closed') continue
    const name = deployment ? `${model} at ${deployment}` : model
    models.set(provider, [...(models.get(provider) ?? []), name])
  }
  return new Map(
    [...models].map(([provider, names]) => [
      provider,
      `The provider ${provider} fails: the circuit is open for ${listSome(names)}.`,
    ]),
  )
}

const MAX_NAMES = 5

function listSome(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

interface ExpiringKey {
  readonly id: string
  readonly title: string
  readonly expiresAt: string
}

function listUserKeys({ users }: ConditionServices['accounts']): readonly ExpiringKey[] {
  return users().flatMap(({ name, keys }) =>
    keys.flatMap(({ id, expiresAt, revokedAt }) =>
      expiresAt === undefined || revokedAt !== null
        ? []
        : [{ id, title: `${id} of user "${name}"`, expiresAt }],
    ),
  )
}

function listOperatorKeys({ list }: ConditionServices['operators']): readonly ExpiringKey[] {
  return list().flatMap(({ id, name, expiresAt }) =>
    expiresAt === null ? [] : [{ id, title: `of operator "${name}"`, expiresAt }],
  )
}
