import { type TProperties, Type } from '../../core/contract/index.ts'
import { PAGE } from '../../core/http/pages.ts'
import { Count, pageQuery, Timestamp } from '../../core/http/schemas.ts'
import { asOfQuery } from '../../core/resources/endpoints.ts'

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

/** The query of lists of rules. */
export const listQuery = {
  ...asOfQuery,
  ...pageQuery({ max: PAGE.max }, 'YWZ0ZXI6OTkwMDAwMDAwMDAwMDA3'),
  revisions: Type.Optional(
    Type.Boolean({ description: 'Adds the revision of each rule, for later changes. Only without as_of.' }),
  ),
}
