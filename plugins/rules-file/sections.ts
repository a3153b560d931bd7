import {
  isJsonObject,
  type JsonObject,
  type ResourceDeclaration,
  type Static,
  StrictObject,
  type TObject,
  type TProperties,
  type TSchema,
  Type,
} from '../../core/contract/index.ts'
import { buildResource } from '../../core/resources/resource.ts'
import { groups, policies } from '../policies/index.ts'
import type { RulesFileState } from './planned.ts'

/** A user or a group, by id or by unique name. */
export type Reference = number | string

export const reference = (what: string) =>
  Type.Union([Type.Integer({ minimum: 1, format: 'int64' }), Type.String({ minLength: 1, maxLength: 128 })], {
    description: `A ${what}, by id or by name. The name must be unique.`,
  })

/** Lists with these names in the field of a resource hold ids. In the file, they hold references. */
const REFERENCES = { groups: 'group', users: 'user' } as const

export type ReferenceKind = (typeof REFERENCES)[keyof typeof REFERENCES]

const isReferenceList = (name: string): name is keyof typeof REFERENCES => Object.hasOwn(REFERENCES, name)

/** Returns a value with what `map` returns for each reference in it. */
export function mapReferences<Item>(
  value: JsonObject,
  map: (kind: ReferenceKind, item: Item, path: string) => unknown,
  path = '',
): JsonObject {
  const entries = Object.entries(value).map(([name, part]) => {
    const partPath = `${path}.${name}`
    if (isReferenceList(name) && Array.isArray(part))
      // An id and a name can refer to the same.
      return [name, [...new Set(part.map((item, i) => map(REFERENCES[name], item, `${partPath}[${i}]`)))]]
    return [name, isJsonObject(part) ? mapReferences(part, map, partPath) : part]
  })
  return Object.fromEntries(entries)
}

type WithReferences<Value> = Value extends readonly number[]
  ? Reference[]
  : Value extends object
    ? { [Name in keyof Value]: WithReferences<Value[Name]> }
    : Value

function withReferences(schema: TSchema): TSchema {
  const { $id, anyOf, properties } = schema
  if (Array.isArray(anyOf)) return { ...schema, anyOf: anyOf.map(withReferences) } as TSchema
  if (!isJsonObject(properties) || !Object.keys(properties).some(isReferenceList)) return schema
  const entries = Object.entries(properties).map(withReferenceList)
  return {
    ...schema,
    $id: $id?.replace('Input', 'Entry'),
    properties: Object.fromEntries(entries),
  } as TSchema
}

function withReferenceList([name, schema]: [string, unknown]) {
  if (!isReferenceList(name)) return [name, schema] as const
  // Items are compared when they have become ids.
  const { uniqueItems: _, ...list } = schema as TSchema
  const description = list.description?.replace('Ids of', 'Ids or names of')
  return [name, { ...list, items: reference(REFERENCES[name]), description }] as const
}

/** What an entry is about, and whether it is to be there. */
export interface SectionEntry {
  readonly id?: number
  readonly name?: string
  readonly absent?: true
}

export interface SectionEntity {
  readonly id: number
  readonly name: string
}

export type ResourceSection<Known extends SectionEntity> = Omit<
  ReturnType<typeof defineSection<Known, TProperties, TProperties>>,
  'schema'
>

/** A section with the entities of a resource. `parts` are the fields beside those of the resource. */
function defineSection<Known extends SectionEntity, Fields extends TProperties, Parts extends TProperties>(
  declaration: ResourceDeclaration<Known, Fields>,
  list: (state: RulesFileState) => readonly Known[],
  parts: Parts,
) {
  const { name, fields } = declaration
  const { title, events, parse, ...resource } = buildResource(declaration)
  type Entry = SectionEntry & Partial<WithReferences<Static<TObject<Fields>>>> & Static<TObject<Parts>>

  const pickFields = (value: JsonObject) =>
    Object.fromEntries(Object.entries(value).filter(([field]) => Object.hasOwn(fields, field)))
  /** The fields that operators set, as the API shows them. The cast is safe: nothing else is shown. */
  const show = (content: object) => pickFields(resource.show(content as Known))

  return {
    // The casts are safe: these are the sections of the file.
    name: name as 'group' | 'policy',
    plural: declaration.plural as 'groups' | 'policies',
    list,
    events,
    show,
    /** Whether something may refer to an entity, so that it is deleted after what does. */
    isReferredTo: declaration.checkUnused !== undefined,
    required: Object.keys(fields).filter(
      (field) => field !== 'name' && resource.schemas.input.required?.includes(field),
    ),
    schema: Type.Unsafe<Entry>(
      StrictObject(
        {
          id: Type.Optional(
            Type.Integer({ minimum: 1, format: 'int64', description: `Id of an existing ${name}.` }),
          ),
          ...Object.fromEntries(
            Object.entries(fields).map(([field, schema]) => [field, Type.Optional(withReferences(schema))]),
          ),
          absent: Type.Optional(
            Type.Literal(true, { description: 'Removes it. No other field than id or name may be given.' }),
          ),
          ...parts,
        },
        { $id: `${title}Entry`, description: declaration.description },
      ),
    ),
    /** Returns the content of an entry, in which references are ids. Throws a `GatewayError` for an issue. */
    parse(entry: JsonObject, before: Known | undefined): JsonObject {
      const content = parse(pickFields(entry), true)
      return { ...(declaration.complete?.(content, before, {}) ?? content) }
    },
    /** What an entry must say of an entity beside its name. */
    showEntry(entity: Known, showReference: (kind: ReferenceKind, id: number) => Reference): JsonObject {
      const { name: _, ...shown } = show(entity)
      const named = mapReferences(shown, showReference)
      const entries = Object.entries(named).filter(([field, value]) => value !== fields[field]?.default)
      return Object.fromEntries(entries.map(([field, value]) => [field, withoutEmptyLists(value)]))
    },
  }
}

function withoutEmptyLists(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).filter(([, part]) => !Array.isArray(part) || part.length > 0),
  )
}

/** A rule in the file. Its fields are those of the rule's own endpoints, which parse it. */
const RuleEntry = Type.Unsafe<JsonObject>({
  type: 'object',
  additionalProperties: true,
  description: 'A rule: the fields that its own endpoint accepts, and the id of an existing rule.',
})

const ruleList = (kind: string) =>
  Type.Optional(
    Type.Array(RuleEntry, { maxItems: 10_000, description: `All ${kind} rules. Others are removed.` }),
  )

export const ruleLists = {
  firewall_rules: ruleList('firewall'),
  routing_rules: ruleList('routing'),
  tool_rules: ruleList('tool'),
}

export const GROUPS = defineSection(groups, (state) => state.groups.groups(), {
  members: Type.Optional(
    Type.Array(reference('user'), {
      maxItems: 100_000,
      description: 'All members: others leave the group. Missing: the members stay as they are.',
    }),
  ),
})

export const POLICIES = defineSection(policies, (state) => state.policies.policies(), ruleLists)
