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

/** Whether something has the text in its name, or as its id. `text` is in lower case. */
export function matchesName(
  { id, name }: { readonly id: number; readonly name: string },
  text: string,
): boolean {
  return text === '' || name.toLowerCase().includes(text) || String(id) === text
}
