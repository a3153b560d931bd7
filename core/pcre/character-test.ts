import type { Node } from './ast.ts'
import type { CharacterTest } from './program.ts'
import { formatSet } from './to-regexp.ts'

/** Whether a character matches a character or set of a pattern. */
export function characterTest(node: Extract<Node, { readonly type: 'character' | 'set' }>): CharacterTest {
  if (node.type === 'character') {
    const { code } = node
    return (other) => other === code
  }
  const regex = new RegExp(`^${formatSet(node.items, node.negated)}$`, 'u')
  const matches = (code: number) => regex.test(String.fromCodePoint(code))
  const ascii = Array.from({ length: 128 }, (_, code) => matches(code))
  return (code) => ascii[code] ?? matches(code)
}
