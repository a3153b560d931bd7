import path from 'node:path'
import { expect } from 'chai'
import { CONSOLE_TYPES } from '../support/console-types.ts'
import { headingsOf } from '../support/markdown.ts'
import { exists, listFiles, readSource, SOURCE_FOLDERS } from '../support/source-files.ts'

const MAX_COLUMNS = 110
const MAX_LINES = 450

const SOURCES = ['.ts', '.tsx'].flatMap((end) => SOURCE_FOLDERS.flatMap((folder) => listFiles(folder, end)))
const TESTS = listFiles('test', '.ts')
const SETTINGS = ['.yaml', '.yml', '.service', 'Dockerfile'].flatMap((end) => listFiles('config', end))

describe('the source', () => {
  it(`has lines of at most ${MAX_COLUMNS} columns`, () => {
    const long = [...SOURCES, ...TESTS, ...SETTINGS]
      .flatMap((file) =>
        readSource(file)
          .split('\n')
          .map((line, index) => ({ file, line, index })),
      )
      .filter(({ file, line }) => line.length > MAX_COLUMNS && !isTestData(file, line))
      .map(({ file, index }) => `${file}:${index + 1}`)
    expect(long).to.deep.equal([])
  })

  it(`has files of at most ${MAX_LINES} lines, but those that are generated`, () => {
    const written = SOURCES.filter((file) => file !== CONSOLE_TYPES)
    const long = written.filter((file) => readSource(file).split('\n').length > MAX_LINES + 1)
    expect(long).to.deep.equal([])
  })

  it('declares an exported name in at most two files', () => {
    const files = new Map<string, string[]>()
    for (const file of SOURCES.filter((name) => name !== CONSOLE_TYPES)) {
      for (const name of exportsOf(file)) files.set(name, [...(files.get(name) ?? []), file])
    }
    expect([...files].filter(([, declaring]) => declaring.length > 2)).to.deep.equal([])
  })
})

describe('references to the documentation', () => {
  it('name a page that exists and its headings', () => {
    expect(citations.filter((citation) => !resolves(citation))).to.deep.equal([])
  })

  it('name no section by its number', () => {
    const numbered = [...SOURCES, ...TESTS, ...SETTINGS].flatMap((file) =>
      [...joinComments(readSource(file)).matchAll(NUMBERED_SECTION)].map(([text]) => `${file}: ${text}`),
    )
    expect(numbered).to.deep.equal([])
  })

  it('lead from the code to every decision', () => {
    const cited = new Set(
      citations
        .filter(({ file }) => !file.startsWith('test/'))
        .flatMap(({ page, headings }) => headings.map((heading) => `${page}: ${heading}`)),
    )
    const decisions = listFiles('docs/decisions', '.md')
      .filter((page) => !page.endsWith('README.md'))
      .flatMap((page) => decisionsOf(page).map((decision) => `${page}: ${decision}`))
    expect(decisions).not.to.deep.equal([])
    expect(decisions.filter((decision) => !cited.has(decision))).to.deep.equal([])
  })
})

/** A title or a row of test data may be one long string, which the formatter leaves whole. */
function isTestData(file: string, line: string): boolean {
  return file.startsWith('test/') && !/^\s*(?:\/\/|\/?\*)/.test(line) && /['"`]/.test(line)
}

function exportsOf(file: string): readonly string[] {
  const declarations = readSource(file).matchAll(
    /^export (?:abstract |async )*(?:function\*?|class|interface|type|const|let|enum) (\w+)/gm,
  )
  return [...new Set([...declarations].map(([, name = '']) => name))]
}

interface Citation {
  readonly file: string
  readonly page: string
  readonly headings: readonly string[]
}

const CITATION = /(?<![\w./-])((?:\.\.?\/)*\w[\w./-]*\.md)\b((?:,? (?:and )?"[^"]+")*)/g

/** Everywhere that a page is named: `docs/api.md`, or `docs/api.md, "Errors" and "Limits"`. */
const citations: readonly Citation[] = [...SOURCES, ...TESTS, ...SETTINGS]
  .filter((file) => file !== 'test/unit/source.test.ts')
  .flatMap((file) =>
    [...joinComments(readSource(file)).matchAll(CITATION)].map(([, page = '', quoted = '']) => ({
      file,
      page,
      headings: [...quoted.matchAll(/"([^"]+)"/g)].map(([, heading = '']) => heading),
    })),
  )

/** References by number go stale unnoticed. RFCs do not change. */
const NUMBERED_SECTION =
  /\u00a7|(?<!RFC \d+,? )\b(?:interface|decisions?|reference|specification|spec|section|chapter),? \d/gi

function resolves({ file, page, headings }: Citation): boolean {
  const beside = path.posix.join(path.posix.dirname(file), page)
  const target = [page, beside].find(exists)
  return target !== undefined && headings.every((heading) => headingsOf(target).includes(heading))
}

/** Puts each comment on one line. */
function joinComments(text: string): string {
  return text.replace(/\n\s*(?:\/\/|\*(?!\/)|#) ?/g, ' ')
}

/** The headings below "Decisions". */
function decisionsOf(page: string): readonly string[] {
  const [, decisions = ''] = readSource(page).split(/^## Decisions$/m)
  return [...decisions.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading.replace(/`/g, ''))
}
