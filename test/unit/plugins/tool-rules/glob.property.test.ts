import { expect } from 'chai'
import fc from 'fast-check'
import { compileGlob } from '../../../../plugins/tool-rules/glob.ts'

/** The definition: `*` stands for any characters, `?` for one. */
function matches(glob: readonly string[], name: readonly string[]): boolean {
  const [first, ...rest] = glob
  if (first === undefined) return name.length === 0
  if (first === '*') return matches(rest, name) || (name.length > 0 && matches(glob, name.slice(1)))
  return name.length > 0 && (first === '?' || first === name[0]) && matches(rest, name.slice(1))
}

describe('globs of tool rules', () => {
  const text = (...units: string[]) =>
    fc.array(fc.constantFrom(...units), { maxLength: 8 }).map((characters) => characters.join(''))

  it('match what they are defined to match', () => {
    const globs = fc.oneof(text('a', 'b', '*'), text('a', 'b', '*', '?', '😀'))
    fc.assert(
      fc.property(globs, text('a', 'b', '😀'), (glob, name) => {
        expect(compileGlob(glob)(name)).to.equal(matches([...glob], [...name]))
      }),
      { numRuns: 2000 },
    )
  })
})
