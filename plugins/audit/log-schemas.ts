import { Nullable, StringEnum, Type } from '../../core/contract/index.ts'
import { AnyFields, Count, NextCursor, Timestamp } from '../../core/http/schemas.ts'
import { ActorSchema, NoEffect } from '../../core/resources/changes.ts'
import { LOG_ENTRY_KINDS } from './log-entries.ts'
import { auditQuery } from './schemas.ts'

const { since, until, actor, limit, cursor } = auditQuery

const idFilter = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, format: 'int64', description, examples: [7] }))

/** The query of `GET /admin/audit`. */
export const adminAuditQuery = {
  user: idFilter('Id of the user whom the changes are about.'),
  group: idFilter('Id of the group that the changes are about.'),
  policy: idFilter('Id of the policy that the changes are about.'),
  rule: idFilter('Id of the rule that was changed.'),
  actor,
  kind: Type.Optional(StringEnum(LOG_ENTRY_KINDS, { description: 'Kind of the entries.' })),
  since,
  until,
  q: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: 200,
      description: 'A text in the content, the reason, or the name or id of the actor; its case is ignored.',
      examples: ['ticket 4711'],
    }),
  ),
  objects: Type.Optional(
    Type.Boolean({ description: 'Adds the changed objects, before and after, to the entries of a page.' }),
  ),
  limit,
  cursor,
  format: Type.Optional(
    StringEnum(['json', 'jsonl', 'csv'], {
      default: 'json',
      description: 'json: a page, newest first. jsonl and csv: the whole range, oldest first.',
    }),
  ),
}

const LogEntrySchema = Type.Object(
  {
    position: Count('Log position of the event.'),
    time: Timestamp('When it happened.'),
    actor: ActorSchema,
    request_id: Nullable(Type.String(), { description: 'The request that caused it, if any.' }),
    reason: Type.Optional(Type.String({ description: 'Why the change was made. Missing if unknown.' })),
    kind: StringEnum(LOG_ENTRY_KINDS, { description: 'Kind of the changed object, or access.' }),
    id: Type.Union([Type.Integer({ format: 'int64' }), Type.String(), Type.Null()], {
      description: 'Id of the changed object; null if it has none.',
    }),
    event: Type.String({ description: 'What happened, such as created, updated, signed_in or refused.' }),
    user_id: Nullable(Type.Integer({ format: 'int64' }), {
      description: 'The user whom it is about, if any.',
    }),
    group_id: Type.Optional(Count('The group that it is about.')),
    policy_id: Type.Optional(Count('The policy that it is about.')),
    no_effect: NoEffect,
    data: AnyFields('The content of the event.'),
    before: Type.Optional(
      Nullable(AnyFields('The object'), {
        description: 'The object before the change; null if it did not exist. Only if it was asked for.',
      }),
    ),
    after: Type.Optional(
      Nullable(AnyFields('The object'), {
        description: 'The object after the change; null if it was removed. Only if it was asked for.',
      }),
    ),
  },
  { $id: 'AuditEntry', description: 'An entry of the audit trail.' },
)

export const LogEntryPage = Type.Object(
  {
    data: Type.Array(LogEntrySchema, { description: 'The entries, newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'AuditEntryPage', description: 'A page of the audit trail.' },
)
