import {
  data,
  type JsonObject,
  Nullable,
  StrictObject,
  StringEnum,
  Type,
} from '../../../core/contract/index.ts'
import { AnyFields, NextCursor, Timestamp } from '../../../core/http/schemas.ts'
import { eventFields } from '../../../core/resources/changes.ts'
import {
  approvedRevision,
  type PinnedTool,
  REVISION_STATUSES,
  type ToolRevision,
} from '../../../projections/events/tool-servers.ts'
import { diffJson } from './diff-json.ts'
import { selectRevision } from './observe.ts'
import { TOOL_NAME } from './parse-definitions.ts'
import type { ToolServerPolicy } from './state.ts'

/** What is to be known of a tool at a glance. */
export const TOOL_STATUSES = ['approved', 'pending', 'changed', 'rejected'] as const

const Finding = Type.Object(
  {
    check: StringEnum(['hidden_text', 'instruction_override', 'exfiltration', 'other_server'], {
      description: 'What was found.',
    }),
    path: Type.String({ description: 'Where it is in the definition, as a JSON pointer.' }),
    excerpt: Type.String({ description: 'What was found. Hidden characters are written as escapes.' }),
  },
  { $id: 'ToolFinding', description: 'Something suspicious in the definition of a tool.' },
)

const Difference = Type.Object(
  {
    path: Type.String({ description: 'Where the definitions differ, as a JSON pointer.' }),
    before: Type.Optional(Type.Unknown({ description: 'The value before. Missing if it was added.' })),
    after: Type.Optional(Type.Unknown({ description: 'The value after. Missing if it was removed.' })),
  },
  { $id: 'ToolDifference', description: 'Where two definitions of a tool differ.' },
)

const Differences = Type.Array(Difference, { description: 'What differs from the approved definition.' })
const RevisionNumber = (description: string) => Type.Integer({ minimum: 1, description })

export const ToolName = Type.String({
  pattern: TOOL_NAME.source,
  description: 'Name of the tool at its server.',
  examples: ['read_file'],
})

export const Tool = Type.Object(
  {
    name: ToolName,
    status: StringEnum(TOOL_STATUSES, {
      description:
        'Of the newest definition: approved or rejected; pending if none was ever approved; changed if ' +
        'an earlier one was.',
    }),
    revision: RevisionNumber('Number of the newest definition, from 1.'),
    approved_revision: Nullable(RevisionNumber('The newest approved definition.'), {
      description: 'Number of the newest approved definition; null if there is none.',
    }),
    served_revision: Nullable(Type.Integer({ minimum: 1 }), {
      description: 'Number of the definition that callers get; null: the tool is not served.',
    }),
    digest: Type.String({ description: 'SHA-256 of the newest definition as canonical JSON, in hex.' }),
    seen_at: Timestamp('When the newest definition was first seen.'),
    decided_at: Nullable(Timestamp('When it was approved or rejected.'), {
      description: 'When it was approved or rejected; null: it is pending.',
    }),
    removed_at: Nullable(Timestamp('When the server stopped listing it.'), {
      description: 'When the server stopped listing it; null: it lists it.',
    }),
    omits_revisions: Type.Boolean({
      description: 'Whether the server lists further definitions, which are not recorded until a decision.',
    }),
    definition: AnyFields('The newest definition, all of it.'),
    findings: Type.Array(Finding, { description: 'What is suspicious in the newest definition.' }),
    diff: Nullable(Differences, {
      description:
        'How the newest definition differs from the approved one; null if nothing is to be compared.',
    }),
  },
  { $id: 'PinnedTool', description: 'A tool of a server.' },
)

export const ToolPage = Type.Object(
  {
    data: Type.Array(Tool, { description: 'The tools, in the order in which they were first seen.' }),
    next_cursor: NextCursor,
  },
  { $id: 'ToolPage', description: 'A page of tools.' },
)

export const ToolHistory = data(
  Type.Array(
    Type.Object(
      {
        ...eventFields,
        event: StringEnum(['seen', 'approved', 'rejected', 'omitted', 'removed', 'returned'], {
          description: 'What happened. omitted: further definitions are not recorded until a decision.',
        }),
        revision: Nullable(RevisionNumber('The definition.'), {
          description: 'Number of the definition; null if the event is about none.',
        }),
        status: Type.Optional(
          StringEnum(REVISION_STATUSES, { description: 'What a definition was when it was first seen.' }),
        ),
        digest: Type.Optional(Type.String({ description: 'SHA-256 of a new definition.' })),
        definition: Type.Optional(AnyFields('A new definition.')),
        findings: Type.Optional(Type.Array(Finding, { description: 'What is suspicious in it.' })),
        diff: Type.Optional(
          Type.Array(Difference, { description: 'How a new definition differs from the one before it.' }),
        ),
      },
      { $id: 'ToolHistoryEntry', description: 'What happened to a tool.' },
    ),
    { description: 'The events, oldest first.' },
  ),
)

export const ToolDecision = StrictObject(
  { revision: RevisionNumber('Number of the definition that was looked at.') },
  { $id: 'ToolDecision', description: 'Which definition is approved or rejected.' },
)

const Names = (description: string) => Type.Array(Type.String(), { description })

export const RefreshResult = data(
  Type.Object(
    {
      listed: Type.Integer({ description: 'How many tools the server lists.' }),
      new: Names('Tools that were not known.'),
      changed: Names('Tools with a definition that was not known.'),
      removed: Names('Tools that the server no longer lists.'),
      returned: Names('Tools that the server lists again.'),
      refused: Type.Array(
        Type.Object({
          name: Type.String({ description: 'Its name. Characters that are not in ASCII are escaped.' }),
          reason: Type.String({ description: 'Why it is neither recorded nor served.' }),
        }),
        { description: 'Tools whose definitions are not valid.' },
      ),
    },
    { $id: 'ToolRefresh', description: 'What a server lists now.' },
  ),
)

export function statusOf(tool: PinnedTool): (typeof TOOL_STATUSES)[number] {
  const { status } = newestOf(tool)
  if (status !== 'pending') return status
  return approvedRevision(tool) === undefined ? 'pending' : 'changed'
}

export function newestOf({ name, revisions }: PinnedTool): ToolRevision {
  const newest = revisions.at(-1)
  if (newest === undefined) throw new Error(`tool ${name} has no definition`)
  return newest
}

/** A tool as the API shows it. */
export function showTool(tool: PinnedTool, server: Pick<ToolServerPolicy, 'changedTools'>): JsonObject {
  const newest = newestOf(tool)
  const approved = approvedRevision(tool)
  const { revision, digest, seenAt, decidedAt = null, findings, definition = {} } = newest
  const served = selectRevision(server, tool, { name: tool.name, digest, definition })
  const isServed = tool.removedAt === undefined && typeof served === 'object'
  const isComparable = approved?.definition !== undefined && approved !== newest
  return {
    name: tool.name,
    status: statusOf(tool),
    revision,
    approved_revision: approved?.revision ?? null,
    served_revision: isServed ? served.revision : null,
    digest,
    seen_at: seenAt,
    decided_at: decidedAt,
    removed_at: tool.removedAt ?? null,
    omits_revisions: tool.omitsRevisions ?? false,
    definition,
    findings,
    diff: isComparable ? diffJson(approved.definition, definition) : null,
  }
}
