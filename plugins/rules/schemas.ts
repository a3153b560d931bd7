import { type TProperties, Type } from '../../core/contract/index.ts'
import { Count, LogPoint, Timestamp } from '../../core/http/schemas.ts'

/** The schema of a rule in responses. `properties` are the fields of its kind. */
export function ruleSchema<Properties extends TProperties>(
  $id: string,
  description: string,
  properties: Properties,
) {
  return Type.Object(
    {
      id: Count('Id of the rule.'),
      user_id: Type.Optional(Count('Id of the user who owns the rule.')),
      policy_id: Type.Optional(Count('Id of the policy that owns the rule, in place of user_id.')),
      name: Type.String({ description: 'Name of the rule.' }),
      is_enabled: Type.Boolean({ description: 'Whether the rule is applied.' }),
      priority: Type.Integer({ description: 'Higher priorities are evaluated first.' }),
      ...properties,
      revision: Type.Optional(Count('Number of its changes; only if it was asked for.')),
      created_at: Timestamp('When the rule was created.'),
      updated_at: Timestamp('When the rule was last changed.'),
    },
    { $id, description },
  )
}

export const ruleId = Type.Integer({
  minimum: 1,
  format: 'int64',
  description: 'Id of a rule.',
  examples: [7],
})

export const asOfQuery = { as_of: Type.Optional(LogPoint('Returns the rules as of a point in the log')) }

/** The query of lists of rules. */
export const listQuery = {
  ...asOfQuery,
  revisions: Type.Optional(
    Type.Boolean({ description: 'Adds the revision of each rule, for later changes. Only without as_of.' }),
  ),
}

/** The ETag of a rule, as a response header. */
export const etagHeader = { etag: Type.String({ description: 'Revision of the rule, such as "3".' }) }

/** The condition of a change, as a request header. */
export const ifMatchHeader = {
  'If-Match': Type.Optional(
    Type.String({
      description: 'The ETag of the rule, a list of ETags, or *. If the rule has changed since: 412.',
      examples: ['"1"'],
    }),
  ),
}

/** The condition of a read, as a request header. */
export const ifNoneMatchHeader = {
  'If-None-Match': Type.Optional(
    Type.String({ description: 'ETags of known content. If one is current: 304.', examples: ['"1"'] }),
  ),
}
