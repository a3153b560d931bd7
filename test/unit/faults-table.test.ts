import { expect } from 'chai'
import { listFiles, readSource } from '../support/source-files.ts'

/** The first cells of the rows below a heading of a page. */
function faultsOf(page: string): readonly string[] {
  const [, section = ''] = readSource(page).split('\n## Faults\n')
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).map((row) => (row.split(' | ')[0] ?? '').slice('| '.length))
}

describe('the table of faults in docs/guides/faults.md', () => {
  it('has a test of its name for each row', () => {
    const faults = faultsOf('docs/guides/faults.md')
    expect(faults.length).to.be.above(3)
    const files = listFiles('test/release', '.ts').filter((file) => file.includes('/faults-'))
    const tests = files.map(readSource).join('\n')
    const untested = faults.filter(
      (fault) => !tests.includes(`it('${fault}:`) && !tests.includes(`it(\`${fault}:`),
    )
    expect(untested).to.deep.equal([])
  })
})
