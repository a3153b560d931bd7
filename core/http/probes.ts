import { type Endpoint, type EndpointDescription, endpoint, publicAccess, Type } from '../contract/index.ts'

export interface Readiness {
  /** Returns why the process must not receive traffic; undefined if it may. */
  readonly whyNotReady: () => string | undefined
  /**
   * State of the subscription to the event log. While the log is `away`, the process keeps serving from its
   * projections. Once it was `replaced`, only the probes respond.
   */
  readonly logState: () => string
  /** Streams of the event log that cannot be read completely. */
  readonly damagedStreams: () => readonly string[]
  /** Names of files of the data folder that are damaged, or were and have been set aside. */
  readonly damagedFiles: () => Promise<readonly string[]>
}

const common = { method: 'GET', access: publicAccess, tags: ['operation'] } as const

const event_log = Type.String({ description: 'State of the subscription to the event log.' })

const damaged_streams = Type.Optional(
  Type.Array(Type.String({ description: 'Name of a stream.' }), {
    description:
      'Damaged streams of the event log, at most 20, whose users or operators are refused; missing if none.',
  }),
)

const damaged_files = Type.Optional(
  Type.Array(Type.String({ description: 'Name of a file in the data folder.' }), {
    description:
      'Files of the data folder that are damaged, or were and have been set aside; missing if none.',
  }),
)

const details = { event_log, damaged_streams, damaged_files }

const MAX_LISTED_STREAMS = 20

const LIVENESS = {
  ...common,
  path: '/healthz',
  operationId: 'checkHealth',
  summary: 'Responds as long as the process runs.',
  responses: {
    200: {
      description: 'The process runs.',
      body: Type.Object(
        { status: Type.Literal('ok', { description: 'Always ok.' }) },
        { $id: 'Health', description: 'Liveness of the process.' },
      ),
    },
  },
} satisfies EndpointDescription

const READINESS = {
  ...common,
  path: '/readyz',
  operationId: 'checkReadiness',
  summary: 'Reports whether this node can serve traffic.',
  responses: {
    200: {
      description: 'The node can serve traffic.',
      body: Type.Object(
        { status: Type.Literal('ready', { description: 'Always ready.' }), ...details },
        { $id: 'Readiness', description: 'Readiness of the node.' },
      ),
    },
    503: {
      description: 'The node must not receive traffic.',
      body: Type.Object(
        {
          status: Type.Literal('not ready', { description: 'Always not ready.' }),
          reason: Type.String({ description: 'Why the node must not receive traffic.' }),
          ...details,
        },
        { $id: 'Unreadiness', description: 'Why the node cannot serve traffic.' },
      ),
    },
  },
} satisfies EndpointDescription

/** The descriptions of the probes. */
export const PROBES: readonly EndpointDescription[] = [LIVENESS, READINESS]

/**
 * Creates `/healthz` (liveness: always 200) and `/readyz` (readiness: 503 with the reason if the process must
 * not receive traffic), which every listener for clients serves. See docs/decisions/event-log.md, "A node
 * stays ready while the event log is unavailable".
 */
export function createProbes({
  whyNotReady,
  logState,
  damagedStreams,
  damagedFiles,
}: Readiness): readonly Endpoint[] {
  return [
    endpoint({ ...LIVENESS, handle: () => ({ status: 200, body: { status: 'ok' } }) }),
    endpoint({
      ...READINESS,
      async handle() {
        const files = await damagedFiles()
        const event_log = logState()
        const reason = event_log === 'replaced' ? 'the event log was replaced' : whyNotReady()
        const names = damagedStreams().slice(0, MAX_LISTED_STREAMS)
        const details = {
          event_log,
          ...(names.length > 0 && { damaged_streams: [...names] }),
          ...(files.length > 0 && { damaged_files: [...files] }),
        }
        return reason === undefined
          ? { status: 200, body: { status: 'ready', ...details } }
          : { status: 503, body: { status: 'not ready', reason, ...details } }
      },
    }),
  ]
}
