import { caseFormsOf } from './case-folding.ts'
import { single } from './ranges.ts'
import { type Atom, repeatable } from './reader.ts'
import { type Node, set } from './syntax.ts'

/** A character that stands for itself, in any case if case is ignored. */
export function literal(code: number, { caseless }: { readonly caseless: boolean }): Atom {
  return repeatable(caseless ? anyCase(code) : { type: 'character', code })
}

/** A character in any case. */
export function anyCase(code: number): Node {
  const forms = caseFormsOf(code)
  return forms.length === 1 ? { type: 'character', code } : set(forms.map(single))
}
