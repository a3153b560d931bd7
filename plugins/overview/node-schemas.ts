import { Nullable, type Static, StringEnum, Type } from '../../core/contract/index.ts'
import { Count, Timestamp } from '../../core/http/schemas.ts'

const optionalCount = (description: string) => Nullable(Type.Integer({ minimum: 0 }), { description })

const figures = {
  pid: Count('Its process id.'),
  started_at: Timestamp('When it was started.'),
  position: optionalCount('Log position up to which it has applied all events; null for a primary.'),
  log_state: Nullable(Type.String(), {
    description: 'following, or why it cannot follow the event log; null for a primary.',
  }),
  memory_bytes: Count('Memory that it takes (RSS), in bytes.'),
  heap_used_bytes: Count('Memory of its JavaScript objects, in bytes.'),
  heap_limit_bytes: Count('What these may take, in bytes.'),
  requests_in_flight: optionalCount('Requests that have not ended; null for a primary.'),
}

const Figures = Type.Object(figures)

/** What a process says about itself. */
export type ProcessFigures = Static<typeof Figures>

const NodeProcess = Type.Object(
  {
    role: StringEnum(['single', 'primary', 'worker'], {
      description: 'Serves alone, starts and watches workers, or serves beside others.',
    }),
    number: Nullable(Type.Integer({ minimum: 1 }), {
      description: 'The number of a worker; null for others.',
    }),
    state: StringEnum(['starting', 'serving', 'draining'], {
      description: 'Whether it serves: draining workers are being replaced or stopped.',
    }),
    is_leader: Type.Boolean({
      description: 'Whether it does what only one process of the node does, such as snapshots and alerts.',
    }),
    lag: optionalCount(
      'Positions of the log that it is behind the process that is furthest; null if unknown.',
    ),
    figures: Nullable(
      Type.Object(figures, { $id: 'ProcessFigures', description: 'What a process says about itself.' }),
      { description: 'Null if the process did not answer in time.' },
    ),
  },
  { $id: 'NodeProcess', description: 'A process of this node.' },
)

export const NodeSchema = Type.Object(
  {
    host: Type.String({ description: 'Name of the machine.' }),
    version: Type.String({ description: 'The version of the gateway.' }),
    node_version: Type.String({ description: 'The version of Node.js.' }),
    cpus: Count('Processors that it may use.'),
    memory_bytes: Count('Memory of the machine, or of the container, in bytes.'),
    event_log: StringEnum(['embedded', 'server'], { description: 'Where the event log is.' }),
    ledger: StringEnum(['embedded', 'server'], { description: 'Where the request ledger is.' }),
    shares_counts: Type.Boolean({ description: 'Whether Redis shares counts with other nodes.' }),
    processes: Type.Array(NodeProcess, { description: 'The processes of this node. Others are not known.' }),
  },
  { $id: 'Node', description: 'The node that answers, and its processes.' },
)

export type ShownProcess = Static<typeof NodeProcess>
