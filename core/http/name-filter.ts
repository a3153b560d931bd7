import { Type } from '../contract/index.ts'

/** The parameter `q` of lists of named things. */
export const nameFilter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'A part of the name, whose case is ignored, or the id.',
    examples: ['ada'],
  }),
)

/** The parameter `id` of the same lists: such as to read the names of what another list refers to. */
export const idFilter = Type.Optional(
  Type.Array(Type.Integer({ minimum: 1, format: 'int64' }), {
    maxItems: 100,
    uniqueItems: true,
    description: 'Only those with one of these ids; repeat the parameter for several.',
    examples: [[7]],
  }),
)

/** What lists can be searched for. */
export interface Named {
  readonly id: number
  readonly name: string
}

/** Those that have the text in their name or as their id, and one of the ids. */
export function findNamed<Item extends Named>(
  items: readonly Item[],
  { q = '', id: ids }: { readonly q?: string; readonly id?: readonly number[] },
): readonly Item[] {
  if (q === '' && ids === undefined) return items
  const text = q.toLowerCase()
  const wanted = ids && new Set(ids)
  const hasText = ({ id, name }: Named) =>
    text === '' || name.toLowerCase().includes(text) || String(id) === text
  return items.filter((item) => hasText(item) && wanted?.has(item.id) !== false)
}
