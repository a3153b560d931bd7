import path from 'node:path'
import { expect } from 'chai'
import { listFiles, readSource, SOURCE_FOLDERS } from '../support/source-files.ts'

/**
 * The layers: what the files of a folder, or of a folder in it, may import. The longest entry that fits a
 * file applies. Every folder may import itself and what is in it, unless it has an entry of its own.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'core/contract': [],
  core: ['core'],
  // The engine for patterns could be a package of its own.
  'core/pcre': [],
  projections: ['core', 'projections'],
  'providers/shared': ['core'],
  // The sandbox checks the adapters' requests, so it must not share their code.
  'providers/sandbox': ['core', 'providers/shared'],
  providers: ['core', 'providers'],
  // The console is a program of its own, which runs in browsers.
  'plugins/console/app': [],
  plugins: ['core', 'projections', 'providers/shared', 'plugins'],
  'config/settings': ['core', 'providers'],
  'config/prices': ['core', 'providers'],
  'config/gateway': ['core', 'projections', 'providers', 'plugins', 'config/settings', 'config/prices'],
  'config/cluster': ['core', 'providers', 'plugins', 'config/settings', 'config/gateway'],
  config: ['core', 'projections', 'providers', 'plugins', 'config'],
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** What every file imports from this project, by path from the root. */
const files: Graph = new Map(
  ['.ts', '.tsx']
    .flatMap((end) => SOURCE_FOLDERS.flatMap((folder) => listFiles(folder, end)))
    .map((file) => [file, importsOf(file)]),
)

describe('the import graph', () => {
  it('names only files that exist', () => {
    const missing = edgesOf(files).filter(([, target]) => !files.has(target))
    expect(missing).to.deep.equal([])
  })

  it('follows the layers', () => {
    expect(edgesOf(files).filter(([file, target]) => !mayImport(file, target))).to.deep.equal([])
  })

  it('reaches plugins from others by their index only', () => {
    const past = edgesOf(files).filter(([file, target]) => {
      const [from, to] = [pluginOf(file), pluginOf(target)]
      return from !== undefined && to !== undefined && from !== to && target !== `${to}/index.ts`
    })
    expect(past).to.deep.equal([])
  })

  it('has no circle of files', () => {
    expect(findCircle(files)).to.deep.equal([])
  })

  // A folder is one node. It stands for the files directly in it: `projections` and `projections/runtime` are
  // two nodes, and may not import each other, either. A plugin is one node with its folders.
  it('has no circle of folders', () => {
    const folders = toFolderGraph(edgesOf(files))
    expect(findCircle(folders)).to.deep.equal([])
  })
})

function mayImport(file: string, target: string): boolean {
  const layer = layerOf(file)
  if (layer === undefined) return false
  return layer === layerOf(target) || LAYERS[layer]?.some((folder) => isIn(folder, target)) === true
}

function layerOf(file: string): string | undefined {
  return Object.keys(LAYERS)
    .filter((folder) => isIn(folder, file))
    .sort((a, b) => b.length - a.length)[0]
}

function isIn(folder: string, file: string): boolean {
  return file.startsWith(`${folder}/`)
}

function importsOf(file: string): ReadonlySet<string> {
  const statements = readSource(file).matchAll(
    /^(?:import|export)\b[^'"]*?from '(\.[^']+)'|^import '(\.[^']+)'|import\('(\.[^']+)'\)/gm,
  )
  const targets = [...statements].map(([, a, b, c]) => a ?? b ?? c ?? '')
  return new Set(targets.map((target) => path.posix.join(path.posix.dirname(file), target)))
}

type Edge = readonly [from: string, to: string]

function edgesOf(graph: Graph): readonly Edge[] {
  return [...graph].flatMap(([from, targets]) => [...targets].map((to) => [from, to] as const))
}

function toFolder(file: string): string {
  return pluginOf(file) ?? path.posix.dirname(file)
}

/** The folder of the plugin that a file belongs to. */
function pluginOf(file: string): string | undefined {
  return /^plugins\/(?!console\/app\/)[\w-]+/.exec(file)?.[0]
}

function toFolderGraph(edges: readonly Edge[]): Graph {
  const graph = new Map<string, Set<string>>()
  for (const [from, to] of edges.map((edge) => edge.map(toFolder) as [string, string])) {
    if (from !== to) graph.set(from, (graph.get(from) ?? new Set()).add(to))
  }
  return graph
}

/** The nodes of one circle in order, the first one again at the end, or nothing. */
function findCircle(graph: Graph): readonly string[] {
  const done = new Set<string>()
  function visit(node: string, way: readonly string[]): readonly string[] {
    if (way.includes(node)) return [...way.slice(way.indexOf(node)), node]
    if (done.has(node)) return []
    for (const target of graph.get(node) ?? []) {
      const circle = visit(target, [...way, node])
      if (circle.length > 0) return circle
    }
    done.add(node)
    return []
  }
  for (const node of graph.keys()) {
    const circle = visit(node, [])
    if (circle.length > 0) return circle
  }
  return []
}
