import { Nullable, StrictObject, Type } from '../../core/contract/index.ts'
import { Count, NextCursor, Timestamp } from '../../core/http/schemas.ts'

const name = Type.String({ minLength: 1, maxLength: 128, description: 'Name of the group.' })
const description = Nullable(Type.String({ maxLength: 1000 }), { description: 'What the group is for.' })

/** The body of `POST /admin/groups`. */
export const GroupInput = StrictObject(
  { name, description: Type.Optional(description) },
  { $id: 'GroupInput', description: 'A new group.' },
)

/** The body of `PATCH /admin/groups/{id}`. */
export const GroupChange = StrictObject(
  { name: Type.Optional(name), description: Type.Optional(description) },
  { $id: 'GroupChange', description: 'The fields to change.', minProperties: 1 },
)

export const GroupSchema = Type.Object(
  {
    id: Count('Id of the group.'),
    name,
    description,
    created_at: Timestamp('When the group was created.'),
    updated_at: Timestamp('When its name or description was last changed.'),
  },
  { $id: 'Group', description: 'A group of users.' },
)

export const GroupPage = Type.Object(
  { data: Type.Array(GroupSchema, { description: 'The groups, sorted by id.' }), next_cursor: NextCursor },
  { $id: 'GroupPage', description: 'A page of groups.' },
)

const GroupMember = Type.Object(
  { id: Count('Id of the user.'), name: Type.String({ description: 'Name of the user.' }) },
  { $id: 'GroupMember', description: 'A user in a group.' },
)

export const GroupMemberPage = Type.Object(
  { data: Type.Array(GroupMember, { description: 'The users, sorted by id.' }), next_cursor: NextCursor },
  { $id: 'GroupMemberPage', description: 'A page of the users in a group.' },
)

export const groupId = Type.Integer({
  minimum: 1,
  format: 'int64',
  description: 'Id of a group.',
  examples: [12],
})

/** The revision of a group, as a response header. */
export const groupEtag = { etag: Type.String({ description: 'Revision of the group, such as "3".' }) }
