import { type JsonObject, Nullable, type Static, StringEnum, Type } from '../../core/contract/index.ts'
import { createFold, defineEvent, type EventOf, Id, streamCategory } from '../../core/events/define-event.ts'

/**
 * The stream of a tool server, and of the definitions of its tools. Servers of the settings file have their
 * name as the id. See docs/decisions/tools.md, "A server is one stream".
 */
export const toolServerStream = streamCategory('tool-server-', 'serverId')

const ServerId = Type.Unsafe<number | string>(Type.Union([Id, Type.String({ minLength: 1 })]))

/** How the gateway authenticates at a tool server. */
export const TOOL_SERVER_AUTH_TYPES = ['none', 'bearer', 'header', 'oauth', 'passthrough'] as const

const auth = Type.Object({
  type: StringEnum(TOOL_SERVER_AUTH_TYPES),
  /** `env:NAME` or `file:NAME`. The secret itself is never in an event. */
  secretRef: Type.Optional(Type.String()),
  header: Type.Optional(Type.String()),
  tokenUrl: Type.Optional(Type.String()),
  clientId: Type.Optional(Type.String()),
  scope: Type.Optional(Type.String()),
  resource: Type.Optional(Type.String()),
  onBehalfOf: Type.Optional(StringEnum(['gateway', 'user'])),
})

export type ToolServerAuth = Readonly<Static<typeof auth>>

const policy = {
  isEnabled: Type.Boolean(),
  /** What happens to calls that no rule decides about. */
  default: StringEnum(['allow', 'deny']),
  newTools: StringEnum(['pending', 'approved']),
  changedTools: StringEnum(['block', 'serve_approved']),
  /** Null: the limits of the settings. */
  timeoutMs: Nullable(Type.Integer()),
  maxConcurrent: Nullable(Type.Integer()),
}

/** What servers of the settings file have in common with the others. */
export type ToolServerPolicy = Readonly<Static<ReturnType<typeof Type.Object<typeof policy>>>>

/** The fields of a tool server that operators set. */
const content = Type.Object({ name: Type.String(), url: Type.String(), auth, ...policy })

type ToolServerContent = Readonly<Static<typeof content>>

/** A tool server. `revision` counts the changes of these fields from 1; it is the server's ETag. */
export interface ManagedToolServer extends ToolServerContent {
  readonly id: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly revision: number
}

const audited = <const Change extends string>(change: Change) =>
  ({ kind: 'tool_server', change, id: 'serverId' }) as const

export const toolServerEvents = [
  defineEvent({
    type: 'ToolServerCreated',
    schema: Type.Object({ serverId: Id, ...content.properties }),
    stream: toolServerStream,
    audit: audited('created'),
    assigns: ({ serverId }) => serverId,
    create({ serverId: id, ...server }, { metadata: { time } }): ManagedToolServer {
      return { id, ...server, createdAt: time, updatedAt: time, revision: 1 }
    },
  }),
  defineEvent({
    type: 'ToolServerChanged',
    schema: Type.Object({ serverId: Id, changes: Type.Partial(content) }),
    stream: toolServerStream,
    audit: audited('updated'),
    fold: (server: ManagedToolServer, { changes }, { metadata: { time } }) => ({
      ...server,
      ...changes,
      updatedAt: time,
      revision: server.revision + 1,
    }),
  }),
  defineEvent({
    type: 'ToolServerDeleted',
    schema: Type.Object({ serverId: Id }),
    stream: toolServerStream,
    audit: audited('deleted'),
    fold: () => undefined,
  }),
] as const

type ToolServerEvent = EventOf<typeof toolServerEvents>

export const foldToolServer = createFold<ToolServerEvent, ManagedToolServer>(toolServerEvents)

/** What a check has found in a definition. */
const finding = Type.Object({
  check: Type.String(),
  /** JSON pointer into the definition. */
  path: Type.String(),
  excerpt: Type.String(),
})

export type ToolFinding = Readonly<Static<typeof finding>>

export const REVISION_STATUSES = ['pending', 'approved', 'rejected'] as const

type ToolRevisionStatus = (typeof REVISION_STATUSES)[number]

/** One definition of a tool. */
export interface ToolRevision {
  /** Counts the definitions of the tool from 1. */
  readonly revision: number
  /** SHA-256 of the definition as canonical JSON (RFC 8785), in hex. */
  readonly digest: string
  readonly status: ToolRevisionStatus
  readonly seenAt: string
  /** When an operator, or the settings of the server, last decided about it. */
  readonly decidedAt?: string
  readonly findings: readonly ToolFinding[]
  /**
   * Missing for revisions that are neither the newest one nor the newest approved one: those are in the log.
   */
  readonly definition?: JsonObject
}

/** A tool of a server, with all definitions that were seen. */
export interface PinnedTool {
  readonly name: string
  /** By revision, from 1. */
  readonly revisions: readonly ToolRevision[]
  /** The server no longer lists it. */
  readonly removedAt?: string
  /** When it was last removed or came back. */
  readonly listedAt: string
  /** Since the last decision, the server has listed further definitions, which are not recorded. */
  readonly omitsRevisions?: true
}

const tool = { serverId: ServerId, tool: Type.String({ minLength: 1 }) }
const Revision = Type.Integer({ minimum: 1 })

const decided =
  (status: ToolRevisionStatus) =>
  (
    { omitsRevisions: _, ...pinned }: PinnedTool,
    { revision }: { readonly revision: number },
    { metadata: { time } }: { readonly metadata: { readonly time: string } },
  ): PinnedTool => ({
    ...pinned,
    revisions: withoutOldDefinitions(
      pinned.revisions.map((known) =>
        known.revision === revision ? { ...known, status, decidedAt: time } : known,
      ),
    ),
  })

/** The definitions of tools, as their servers have listed them, and what was decided about them. */
export const pinnedToolEvents = [
  defineEvent({
    type: 'ToolRevisionSeen',
    schema: Type.Object({
      ...tool,
      revision: Revision,
      digest: Type.String(),
      definition: Type.Unsafe<JsonObject>(Type.Object({})),
      /** `approved`: the server is trusted with new tools. */
      status: StringEnum(['pending', 'approved']),
      findings: Type.Unsafe<readonly ToolFinding[]>(Type.Array(finding)),
    }),
    stream: toolServerStream,
    audit: audited('tool_seen'),
    create: (data, { metadata: { time } }): PinnedTool => ({
      name: data.tool,
      revisions: [toRevision(data, time)],
      listedAt: time,
    }),
  }),
  defineEvent({
    type: 'ToolRevisionApproved',
    schema: Type.Object({ ...tool, revision: Revision }),
    stream: toolServerStream,
    audit: audited('tool_approved'),
    fold: decided('approved'),
  }),
  defineEvent({
    type: 'ToolRevisionRejected',
    schema: Type.Object({ ...tool, revision: Revision }),
    stream: toolServerStream,
    audit: audited('tool_rejected'),
    fold: decided('rejected'),
  }),
  /** The server lists more definitions than are recorded without a decision. Once until the next decision. */
  defineEvent({
    type: 'ToolRevisionsOmitted',
    schema: Type.Object(tool),
    stream: toolServerStream,
    audit: audited('tool_revisions_omitted'),
    fold: (pinned: PinnedTool): PinnedTool => ({ ...pinned, omitsRevisions: true }),
  }),
  /** The server no longer lists the tool. */
  defineEvent({
    type: 'ToolRemoved',
    schema: Type.Object(tool),
    stream: toolServerStream,
    audit: audited('tool_removed'),
    fold: (pinned: PinnedTool, _, { metadata: { time } }) => ({
      ...pinned,
      removedAt: time,
      listedAt: time,
    }),
  }),
  /** The server lists it again, with a definition that is known. */
  defineEvent({
    type: 'ToolReturned',
    schema: Type.Object(tool),
    stream: toolServerStream,
    audit: audited('tool_returned'),
    fold: ({ removedAt: _, ...pinned }: PinnedTool, _data, { metadata: { time } }) => ({
      ...pinned,
      listedAt: time,
    }),
  }),
] as const

export type PinnedToolEvent = EventOf<typeof pinnedToolEvents>

const foldEvent = createFold<PinnedToolEvent, PinnedTool>(pinnedToolEvents)

/** Folds an event of a tool. A definition is a further revision of a tool that is known. */
export const foldPinnedTool: typeof foldEvent = Object.assign(
  (...[before, event, record]: Parameters<typeof foldEvent>) => {
    if (event.type !== 'ToolRevisionSeen' || before === undefined) return foldEvent(before, event, record)
    const { revisions, removedAt: _, ...pinned } = before
    // Another node has recorded the same definition.
    if (revisions.some(({ digest }) => digest === event.data.digest)) return before
    const revision = toRevision(event.data, record.metadata.time)
    return { ...pinned, revisions: withoutOldDefinitions([...revisions, revision]) }
  },
  { has: foldEvent.has },
)

type RevisionSeen = Extract<PinnedToolEvent, { readonly type: 'ToolRevisionSeen' }>['data']

function toRevision({ tool: _, serverId: __, ...seen }: RevisionSeen, time: string): ToolRevision {
  return { ...seen, seenAt: time, ...(seen.status === 'approved' && { decidedAt: time }) }
}

/** The newest approved revision. */
export function approvedRevision({ revisions }: Pick<PinnedTool, 'revisions'>): ToolRevision | undefined {
  return revisions.findLast(({ status }) => status === 'approved')
}

/** Definitions may be long, and servers may change them often. */
function withoutOldDefinitions(revisions: readonly ToolRevision[]): readonly ToolRevision[] {
  const approved = approvedRevision({ revisions })
  const newest = revisions.at(-1)
  return revisions.map((revision) => {
    if (revision === approved || revision === newest || revision.definition === undefined) return revision
    const { definition: _, ...rest } = revision
    return rest
  })
}
