import { data, Nullable, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { AnyFields, Count, LogPoint, NextCursor, pageQuery } from '../../core/http/schemas.ts'
import { changeFields, NoEffect } from '../../core/resources/changes.ts'
import { AUDIT_SUBJECTS, SHARED_SUBJECTS } from './audit-entries.ts'

/** The pages of `GET /v1/audit`. */
export const AUDIT_PAGE = { default: 50, max: 500 }

export const auditQuery = {
  since: Type.Optional(LogPoint('Start of the range, inclusive')),
  until: Type.Optional(LogPoint('End of the range, inclusive')),
  actor: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Id of the actor of the changes: of a key or an operator, or root, cli or system.',
      examples: ['key_gGvBxwr2CTTZ4RYVqXhM0SkL'],
    }),
  ),
  kind: Type.Optional(StringEnum(AUDIT_SUBJECTS, { description: 'Kind of the changed object.' })),
  ...pageQuery(AUDIT_PAGE, 'YmVsb3c6Nw'),
}

export const diffQuery = {
  from: LogPoint('Start of the comparison'),
  to: Type.Optional(LogPoint('End of the comparison, by default now')),
}

/** The body of `POST …/{id}/revert`. */
export const Revert = StrictObject(
  { revision: Type.Integer({ minimum: 1, description: 'The revision to restore.' }) },
  { $id: 'Revert', description: 'The revision of a rule to restore.' },
)

const ChangeSchema = Type.Object(
  {
    ...changeFields,
    kind: StringEnum([...AUDIT_SUBJECTS, ...SHARED_SUBJECTS, 'unknown'], {
      description: 'Kind of the changed object; unknown for changes of a newer version of the gateway.',
    }),
    id: Type.Union([Type.Integer({ format: 'int64' }), Type.String(), Type.Null()], {
      description: 'Id of the changed object: a string for keys, a number for all others.',
    }),
    revision: Type.Integer({ description: 'Number of the change among those of the object, from 1.' }),
    event: Type.String({ description: 'Kind of the change, such as created, updated or deleted.' }),
    reverted_to: Type.Optional(Type.Integer({ description: 'The revision that was restored.' })),
    no_effect: NoEffect,
    before: Nullable(AnyFields('The object'), {
      description: 'The object before the change; null if it did not exist.',
    }),
    after: Nullable(AnyFields('The object'), {
      description: 'The object after the change; null if it was deleted.',
    }),
  },
  { $id: 'Change', description: 'One change to a rule, key or user.' },
)

export const ChangeList = data(Type.Array(ChangeSchema, { description: 'The changes, oldest first.' }))

export const ChangePage = Type.Object(
  { data: Type.Array(ChangeSchema, { description: 'The changes, newest first.' }), next_cursor: NextCursor },
  { $id: 'ChangePage', description: 'A page of changes.' },
)

const RuleDiff = Type.Object(
  {
    added: Type.Array(AnyFields('The rule'), { description: 'Rules that exist only at the end.' }),
    changed: Type.Array(
      Type.Object(
        {
          id: Count('Id of the rule.'),
          name: Type.String({ description: 'Name of the rule at the end.' }),
          changes: Type.Record(
            Type.String(),
            Type.Object(
              {
                from: Type.Unknown({ description: 'Value at the start.' }),
                to: Type.Unknown({ description: 'Value at the end.' }),
              },
              { description: 'The change of one field.' },
            ),
            { description: 'The changed fields by name.' },
          ),
        },
        { $id: 'ChangedRule', description: 'The differences of one rule.' },
      ),
      { description: 'Rules whose fields differ.' },
    ),
    removed: Type.Array(AnyFields('The rule'), { description: 'Rules that exist only at the start.' }),
  },
  { $id: 'RuleDiff', description: 'The differences between the rules of one kind.' },
)

export const DiffSchema = Type.Object(
  {
    from: Count('Log position of the start.'),
    to: Count('Log position of the end.'),
    routing: RuleDiff,
    firewall: RuleDiff,
  },
  { $id: 'Diff', description: 'The differences between rules at two points in the log.' },
)
