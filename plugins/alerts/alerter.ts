import { nanoid } from 'nanoid'
import type { Logger } from 'pino'
import type { Author, PluginEvents, RecordStore } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { localKey } from './conditions.ts'
import {
  type AlertEvent,
  type AlertsState,
  type Finding,
  MAX_NOTICE_MS,
  type Notice,
  stateOf,
} from './events.ts'
import { type Message, toMessage } from './messages.ts'
import type { Alert } from './settings.ts'
import type { Target } from './targets.ts'

/** An alert of the settings, ready to be sent. */
export interface OpenAlert {
  readonly alert: Alert
  readonly targets: readonly Target[]
}

interface AlerterOptions {
  readonly alerts: ReadonlyMap<string, OpenAlert>
  readonly events: PluginEvents<AlertsState, AlertEvent>
  readonly store: Pick<RecordStore, 'set'>
  /** Whether this process finds out what fires. The others tell it what only they know. */
  readonly isPrimary: boolean
  readonly checkMs: number
  readonly retryMs: number
  /** Removes secrets. */
  readonly redact: (text: string) => string
  readonly logger: Logger
}

export interface TestResult {
  readonly to: string
  readonly error?: string
}

export interface Alerter {
  /** Sends a test to all targets of an alert. */
  test(open: OpenAlert, author: Author): Promise<readonly TestResult[]>
  close(): Promise<void>
}

/** See docs/decisions/alerts.md, "An alert tells of many subjects at once". */
const MAX_FINDINGS = 100

const MAX_RETRY_MS = 3_600_000
const MAX_ERROR_CHARS = 300
const AUTHOR: Author = { actor: SYSTEM_ACTOR }

/**
 * Checks the conditions at intervals. What fires is an event, and whoever could append it sends: so several
 * nodes send once. See docs/decisions/alerts.md, "Whoever appends the event sends".
 */
export function startAlerter(options: AlerterOptions): Alerter {
  const { alerts, events, store, isPrimary, checkMs, retryMs, redact, logger } = options
  const closing = new AbortController()
  /** When a subject was first seen to be fine again, by alert and subject. */
  const clearSince = new Map<string, number>()
  /** What is being sent, by notice. */
  const sending = new Map<string, Promise<void>>()
  let running: Promise<void> = Promise.resolve()
  let isRunning = false

  async function tellOthers(): Promise<void> {
    const seconds = Math.ceil((checkMs * 3) / 1000)
    const conditions = new Map([...alerts.values()].map(({ alert }) => [alert.when, alert.condition]))
    for (const [name, { local }] of conditions)
      for (const [subject, text] of local?.() ?? []) await store.set(localKey(name, subject), text, seconds)
  }

  /** Subjects that are fine again for long enough. */
  function findResolved(alert: Alert, state: AlertsState, current: ReadonlySet<string>, now: number) {
    const resolved: Finding[] = []
    for (const [subject, { text }] of stateOf(state, alert.name).firing) {
      const key = `${alert.name} ${subject}`
      if (current.has(subject)) clearSince.delete(key)
      else {
        const since = clearSince.get(key) ?? now
        clearSince.set(key, since)
        if (now - since >= alert.resolveAfterMs) resolved.push({ subject, text })
      }
    }
    return resolved
  }

  /** If it rejects, nothing changes: see docs/decisions/alerts.md, "Failed checks change nothing". */
  async function check({ alert, targets }: OpenAlert): Promise<void> {
    const now = Date.now()
    const found = (await alert.condition.find(alert, now)).slice(0, MAX_FINDINGS)
    const current = new Set(found.map(({ subject }) => subject))
    const to = targets.map(({ label }) => label)
    const ids: string[] = []
    const isDue = (notifiedAt: string) => now - Date.parse(notifiedAt) >= alert.repeatAfterMs
    const toEvents = (state: AlertsState): readonly AlertEvent[] => {
      const { firing } = stateOf(state, alert.name)
      const begun = found.filter(({ subject }) => !firing.has(subject))
      const again = found.filter(({ subject }) => {
        const known = firing.get(subject)
        return known !== undefined && isDue(known.notifiedAt)
      })
      const ended = findResolved(alert, state, current, now)
      const groups = [
        ['Fired', begun],
        ['Repeated', again],
        ['Resolved', ended],
      ] as const
      ids.length = 0
      return groups.flatMap(([type, findings]): AlertEvent[] => {
        if (findings.length === 0) return []
        const notice = `alert_${nanoid()}`
        ids.push(notice)
        return [{ type, data: { notice, to, findings } }]
      })
    }
    const appended = await events.append(alert.name, toEvents, AUTHOR)
    if (appended === undefined) return
    for (const id of ids) {
      const notice = events.state().notices.get(id)
      if (notice !== undefined) startDelivery(notice)
    }
  }

  /** Tries again what was not sent, and what a process did not get to send. */
  async function retry(): Promise<void> {
    for (const { id, alert, claims, time } of [...events.state().notices.values()]) {
      const waitMs = Math.min(retryMs * 2 ** claims, MAX_RETRY_MS)
      if (Date.now() - Date.parse(time) > MAX_NOTICE_MS) continue
      const isDue = (notice: Notice | undefined): notice is Notice =>
        notice?.claims === claims && Date.now() - Date.parse(notice.claimedAt) >= waitMs
      if (!alerts.has(alert) || sending.has(id) || !isDue(events.state().notices.get(id))) continue
      const toEvents = ({ notices }: AlertsState): readonly AlertEvent[] =>
        isDue(notices.get(id)) ? [{ type: 'Claimed', data: { notice: id } }] : []
      const claimed = await events.append(alert, toEvents, AUTHOR)
      const notice = events.state().notices.get(id)
      if (claimed !== undefined && notice !== undefined) startDelivery(notice)
    }
  }

  /** A slow target must not delay other alerts. */
  function startDelivery(notice: Notice): void {
    const { id, alert } = notice
    const delivery = deliver(notice)
      .catch((error: unknown) => logFailure(alert, error))
      .finally(() => sending.delete(id))
    sending.set(id, delivery)
  }

  async function deliver(notice: Notice): Promise<void> {
    const { id, alert: name, remaining } = notice
    const open = alerts.get(name)
    if (open === undefined) return
    const left = open.targets.filter(({ label }) => remaining.includes(label))
    const results = await sendTo(left, toMessage(notice, open.alert.when))
    const outcomes = results.map(
      ({ to, error }): AlertEvent =>
        error === undefined
          ? { type: 'Sent', data: { notice: id, to } }
          : { type: 'NotSent', data: { notice: id, to, error } },
    )
    // What was cut off by the end of the process is tried again after the next start.
    const isTold = ({ type }: AlertEvent) => type === 'Sent' || !closing.signal.aborted
    await events.append(name, outcomes.filter(isTold), AUTHOR)
  }

  function sendTo(targets: readonly Target[], message: Message): Promise<readonly TestResult[]> {
    return Promise.all(
      targets.map(async ({ label: to, send }) => {
        try {
          await send(message, closing.signal)
          return { to }
        } catch (caught) {
          const error = redact(errorMessage(caught)).slice(0, MAX_ERROR_CHARS)
          logger.warn({ alert: message.alert, to, error }, 'alert not sent')
          return { to, error }
        }
      }),
    )
  }

  async function run(): Promise<void> {
    await tellOthers().catch((error: unknown) => logFailure(undefined, error))
    if (!isPrimary) return
    for (const open of alerts.values()) {
      if (closing.signal.aborted) return
      await check(open).catch((error: unknown) => logFailure(open.alert.name, error))
    }
    await retry().catch((error: unknown) => logFailure(undefined, error))
  }

  function logFailure(alert: string | undefined, error: unknown): void {
    if (closing.signal.aborted) return
    logger.warn({ alert, error: redact(errorMessage(error)) }, 'alert check failed; retrying')
  }

  function tick(): void {
    if (isRunning) return
    isRunning = true
    running = run().finally(() => {
      isRunning = false
    })
  }

  const timer = setInterval(tick, checkMs).unref()

  return {
    async test({ alert, targets }, author) {
      const subject = alert.name
      const findings = [{ subject, text: `This is a test of the alert ${subject}. Nothing is wrong.` }]
      const { when } = alert
      const time = new Date().toISOString()
      const message: Message = {
        id: `alert_${nanoid()}`,
        alert: subject,
        when,
        type: 'Tested',
        findings,
        time,
      }
      const results = await sendTo(targets, message)
      await events.append(subject, [{ type: 'Tested', data: { results: [...results] } }], author)
      return results
    },
    async close() {
      clearInterval(timer)
      closing.abort()
      await running
      await Promise.all(sending.values())
    },
  }
}
