import { type EventDeclaration, type Static, StrictObject, Type } from '../../core/contract/index.ts'

const FindingSchema = StrictObject({ subject: Type.String(), text: Type.String() })

/** Something that needs attention. */
export type Finding = Readonly<Static<typeof FindingSchema>>

const NoticeSchema = StrictObject({
  notice: Type.String(),
  /** The targets. */
  to: Type.Array(Type.String()),
  findings: Type.Array(FindingSchema, { minItems: 1 }),
})

const types = {
  /** The condition began to hold for these subjects. */
  Fired: NoticeSchema,
  /** It still holds, and is sent again. */
  Repeated: NoticeSchema,
  /** It no longer holds. */
  Resolved: NoticeSchema,
  /** A process tries to send a notice again. */
  Claimed: StrictObject({ notice: Type.String() }),
  Sent: StrictObject({ notice: Type.String(), to: Type.String() }),
  NotSent: StrictObject({ notice: Type.String(), to: Type.String(), error: Type.String() }),
  /** An operator has sent a test. */
  Tested: StrictObject({
    results: Type.Array(StrictObject({ to: Type.String(), error: Type.Optional(Type.String()) })),
  }),
} as const

type NoticeData = Static<typeof NoticeSchema>

export type AlertEvent = {
  [Name in keyof typeof types]: { readonly type: Name; readonly data: Static<(typeof types)[Name]> }
}[keyof typeof types]

export type NoticeType = 'Fired' | 'Repeated' | 'Resolved'

/** What is to be sent, until every target has it. */
export interface Notice {
  readonly id: string
  readonly alert: string
  readonly type: NoticeType
  readonly findings: readonly Finding[]
  /** ISO 8601, UTC. */
  readonly time: string
  /** The targets that do not have it. */
  readonly remaining: readonly string[]
  /** How often it was tried again, and when a process last began to send it. */
  readonly claims: number
  readonly claimedAt: string
}

export interface FiringSubject {
  readonly text: string
  readonly since: string
  readonly notifiedAt: string
}

export interface TargetState {
  readonly sentAt?: string
  /** Undefined once something was sent again. */
  readonly failure?: { readonly at: string; readonly error: string }
}

export interface AlertState {
  readonly firing: ReadonlyMap<string, FiringSubject>
  readonly targets: ReadonlyMap<string, TargetState>
}

/** The state of all alerts that the log knows, also of those that the settings no longer have. */
export interface AlertsState {
  readonly alerts: ReadonlyMap<string, AlertState>
  readonly notices: ReadonlyMap<string, Notice>
}

const NOTHING: AlertState = { firing: new Map(), targets: new Map() }

/** Nobody needs to know after this time what was wrong before. */
export const MAX_NOTICE_MS = 24 * 3_600_000

export function stateOf({ alerts }: AlertsState, name: string): AlertState {
  return alerts.get(name) ?? NOTHING
}

export const alertEvents: EventDeclaration<AlertsState, AlertEvent> = {
  types,
  initial: () => ({ alerts: new Map(), notices: new Map() }),
  evolve(state, event) {
    const { subject: alert, time } = event
    switch (event.type) {
      case 'Fired':
      case 'Repeated':
      case 'Resolved':
        return notify(state, alert, event.type, event.data, time)
      case 'Claimed': {
        const notice = state.notices.get(event.data.notice)
        if (notice === undefined) return state
        return withNotice(state, { ...notice, claims: notice.claims + 1, claimedAt: time })
      }
      case 'Sent': {
        const { notice, to } = event.data
        return withTarget(withoutTarget(state, notice, to), alert, to, () => ({ sentAt: time }))
      }
      case 'NotSent': {
        const { to, error } = event.data
        return withTarget(state, alert, to, (before) => ({ ...before, failure: { at: time, error } }))
      }
      case 'Tested':
        return event.data.results.reduce(
          (tested, { to, error }) =>
            withTarget(tested, alert, to, (before) =>
              error === undefined ? { sentAt: time } : { ...before, failure: { at: time, error } },
            ),
          state,
        )
    }
  },
}

function notify(
  state: AlertsState,
  alert: string,
  type: NoticeType,
  { notice: id, to, findings }: NoticeData,
  time: string,
): AlertsState {
  const { firing, targets } = stateOf(state, alert)
  const changed = new Map(firing)
  for (const { subject, text } of findings) {
    if (type === 'Resolved') changed.delete(subject)
    else changed.set(subject, { text, since: firing.get(subject)?.since ?? time, notifiedAt: time })
  }
  const oldest = Date.parse(time) - MAX_NOTICE_MS
  const kept = [...state.notices].filter(([, notice]) => Date.parse(notice.time) > oldest)
  const notice = { id, alert, type, findings, time, remaining: to, claims: 0, claimedAt: time }
  return {
    alerts: new Map(state.alerts).set(alert, { firing: changed, targets }),
    notices: new Map(kept).set(id, notice),
  }
}

function withNotice(state: AlertsState, notice: Notice): AlertsState {
  return { ...state, notices: new Map(state.notices).set(notice.id, notice) }
}

function withoutTarget(state: AlertsState, id: string, to: string): AlertsState {
  const notice = state.notices.get(id)
  if (notice === undefined) return state
  const remaining = notice.remaining.filter((target) => target !== to)
  if (remaining.length > 0) return withNotice(state, { ...notice, remaining })
  const notices = new Map(state.notices)
  notices.delete(id)
  return { ...state, notices }
}

function withTarget(
  state: AlertsState,
  alert: string,
  to: string,
  change: (before: TargetState | undefined) => TargetState,
): AlertsState {
  const { firing, targets } = stateOf(state, alert)
  const changed = new Map(targets).set(to, change(targets.get(to)))
  return { ...state, alerts: new Map(state.alerts).set(alert, { firing, targets: changed }) }
}
