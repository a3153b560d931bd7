import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ROOT } from '../support/root.ts'

const PROJECT = fileURLToPath(ROOT)

/** Which folders a folder may import from, besides itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  projections: ['core'],
  providers: ['core'],
  plugins: ['core', 'projections', 'providers'],
  config: ['core', 'projections', 'providers', 'plugins'],
}

/** What every file imports from this project, by path from the root. */
const graph = new Map(
  Object.keys(ALLOWED).flatMap((folder) =>
    sourceFiles(folder).map((file) => [file, importsOf(file)] as const),
  ),
)

describe('the import graph', () => {
  it('goes one way', () => {
    const wrong = [...graph].flatMap(([file, imports]) =>
      imports.filter((target) => !mayImport(file, target)).map((target) => `${file} imports ${target}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('has no circles', () => {
    expect(findCircle()).to.deep.equal([])
  })

  it('keeps the contract free of the rest of core', () => {
    const wrong = [...graph].filter(
      ([file, imports]) =>
        file.startsWith('core/contract/') && imports.some((target) => !target.startsWith('core/contract/')),
    )
    expect(wrong).to.deep.equal([])
  })

  it('names only files that exist', () => {
    const missing = [...graph.values()].flat().filter((target) => !graph.has(target))
    expect(missing).to.deep.equal([])
  })
})

function mayImport(file: string, target: string): boolean {
  const [from = '', to = ''] = [file.split('/')[0], target.split('/')[0]]
  return from === to || (ALLOWED[from]?.includes(to) ?? false)
}

function sourceFiles(folder: string): string[] {
  return readdirSync(path.join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
}

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(PROJECT, file), 'utf8')
  const statements = text.matchAll(
    /^(?:import|export)\b[^'"]*?from '(\.[^']+)'|^import '(\.[^']+)'|import\('(\.[^']+)'\)/gm,
  )
  return [...statements].map(([, a, b, c]) => path.posix.join(path.posix.dirname(file), a ?? b ?? c ?? ''))
}

/** The files of one circle, or nothing. */
function findCircle(): string[] {
  const done = new Set<string>()
  function visit(file: string, way: readonly string[]): string[] {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file]
    if (done.has(file)) return []
    for (const target of graph.get(file) ?? []) {
      const circle = visit(target, [...way, file])
      if (circle.length > 0) return circle
    }
    done.add(file)
    return []
  }
  for (const file of graph.keys()) {
    const circle = visit(file, [])
    if (circle.length > 0) return circle
  }
  return []
}
