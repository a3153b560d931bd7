import path from 'node:path'
import { expect } from 'chai'
import { anchorsOf, relativeLinksOf } from '../support/markdown.ts'
import { exists, listFiles, readSource, SOURCE_FOLDERS } from '../support/source-files.ts'

const PAGES = ['README.md', 'SECURITY.md', 'CHANGELOG.md', 'test/soak/README.md', ...listFiles('docs', '.md')]

/** A path in backquotes that begins with a folder of this project, without a placeholder. */
const SOURCE_PATH = new RegExp(`\`((?:${SOURCE_FOLDERS.join('|')}|test|docs)/[\\w./-]+)\``, 'g')

describe('the documentation', () => {
  it('has links that lead to a file and to a heading of it', () => {
    const broken = PAGES.flatMap((page) =>
      relativeLinksOf(page)
        .filter((link) => !leadsSomewhere(page, link))
        .map((link) => `${page}: ${link}`),
    )
    expect(broken).to.deep.equal([])
  })

  it('names only source files that exist', () => {
    const missing = PAGES.flatMap((page) =>
      [...readSource(page).matchAll(SOURCE_PATH)]
        .filter(([, file = '']) => !exists(file))
        .map(([, file]) => `${page}: ${file}`),
    )
    expect(missing).to.deep.equal([])
  })

  it('is listed in docs/README.md, page by page', () => {
    const listed = new Set(relativeLinksOf('docs/README.md').map((link) => `docs/${link}`))
    const index = new Set(relativeLinksOf('docs/decisions/README.md').map((link) => `docs/decisions/${link}`))
    const unlisted = PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md').filter(
      (page) => !listed.has(page) && !index.has(page),
    )
    expect(unlisted).to.deep.equal([])
  })
})

function leadsSomewhere(page: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? page : path.posix.join(path.posix.dirname(page), file)
  if (!exists(target)) return false
  return anchor === undefined || anchorsOf(target).has(anchor)
}
