/**
 * Bundles the program into `dist/program`, as a step of `npm run build`: a start reads some dozen files in
 * place of about a thousand. See docs/decisions/runtime.md, "The program is bundled, the package is not".
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'
import { PACKAGE_FOLDER } from '../core/util/package-folder.ts'

const ROOT = fileURLToPath(PACKAGE_FOLDER)
const OUTPUT = path.join(ROOT, 'dist/program')
const FOLDERS = ['core', 'projections', 'providers', 'plugins', 'config']

/** Native packages, and large ones that most processes never load. Node resolves them at run time. */
const EXTERNAL = [
  /^better-sqlite3/,
  /^re2$/,
  /^@eventstore\//,
  /^(ioredis|pg|ajv|vite|gpt-tokenizer|google-auth-library|nodemailer)(\/|$)/,
  /^@(azure|aws-sdk|platformatic|smithy)\//,
  /^@opentelemetry\/(?!api$)/,
  ...builtinModules.map((name) => new RegExp(`^(node:)?${name}$`)),
  /^node:/,
]

/** Returns the path of a source file from the root, undefined for files of dependencies. */
function sourcePath(file: string): string | undefined {
  const relative = path.relative(ROOT, file)
  return FOLDERS.includes(relative.split(path.sep)[0] ?? '') ? relative : undefined
}

const PROGRAM = ['config/main', 'core/contract/index']

/** The modules that run in threads, by path from the root, without extension. */
function listThreads(): readonly string[] {
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith(path.join('console', 'app')))
      .map((file) => path.join(folder, file)),
  )
  const threads = sources.flatMap((file) => {
    const code = readFileSync(path.join(ROOT, file), 'utf8')
    if (!code.includes('startThread(')) return []
    const names = [...code.matchAll(/'(\.\/[\w-]*worker)'/g)].map(([, name = '']) => name)
    return names.map((name) => path.join(path.dirname(file), name))
  })
  return [...new Set(threads)]
}

/** A module sees the URL that it has in `dist`, below `dist/program`: it starts threads from there. */
const keepModuleUrls: Plugin = {
  name: 'keep-module-urls',
  transform(code, id) {
    const file = sourcePath(id)
    if (file === undefined || !code.includes('import.meta.url')) return undefined
    const url = `new URL(${JSON.stringify(file.replace(/\.ts$/, '.js'))}, __PROGRAM__).href`
    return { code: code.replaceAll('import.meta.url', url), map: null }
  },
  renderChunk(code, { fileName }) {
    if (!code.includes('__PROGRAM__')) return undefined
    const up = '../'.repeat(fileName.split('/').length - 1) || './'
    return { code: code.replaceAll('__PROGRAM__', `new URL('${up}', import.meta.url)`), map: null }
  },
}

/** Modules that every process loads share a file. */
const BASE = /^(core\/(contract|util|threads|events)|config\/settings)\//

/**
 * The kernel and what it imports share another one: by the plugins that use its modules, it would be eighty.
 * Plugins stay apart, so that only those that are listed are loaded.
 */
const KERNEL = /^(core|projections|providers\/(shared|chat-format))\//

const isIn = (folders: RegExp) => (id: string) => folders.test(sourcePath(id) ?? '')

const PROGRAM_GROUPS = [
  { name: 'base', test: isIn(BASE) },
  { name: 'kernel', test: isIn(KERNEL), minShareCount: 3 },
]

async function bundle(
  entries: readonly string[],
  chunks: string,
  groups: typeof PROGRAM_GROUPS = [],
): Promise<void> {
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    plugins: [keepModuleUrls],
    resolve: { mainFields: ['main'], dedupe: ['mime-types'] },
    ssr: { noExternal: true, resolve: { conditions: ['node'], mainFields: ['main'] } },
    build: {
      ssr: true,
      outDir: OUTPUT,
      emptyOutDir: false,
      copyPublicDir: false,
      target: 'esnext',
      minify: false,
      sourcemap: true,
      reportCompressedSize: false,
      rolldownOptions: {
        input: Object.fromEntries(entries.map((entry) => [entry, path.join(ROOT, `${entry}.ts`)])),
        external: EXTERNAL,
        output: {
          format: 'es',
          entryFileNames: ({ name }) => (name === 'config/main' ? 'main.js' : '[name].js'),
          chunkFileNames: `${chunks}/[name]-[hash].mjs`,
          // Vite's default is `var`, whose values V8 cannot compile into the code.
          topLevelVar: false,
          keepNames: true,
          comments: false,
          sourcemapExcludeSources: true,
          codeSplitting: { groups },
        },
      },
    },
  })
}

/** Where an escape sequence would have another meaning: behind a backslash, and in texts of `String.raw`. */
const NOT_ESCAPABLE = /(?<!\\)(?:\\\\)*\\[^\0-\x7f]|\braw`[^`]*[^\0-\x7f]/

/** V8 keeps a source with any other character as UTF-16, and compiles it more slowly. */
function escapeNonAscii(file: string): void {
  const code = readFileSync(file, 'utf8')
  const [found] = NOT_ESCAPABLE.exec(code) ?? []
  if (found !== undefined)
    throw new Error(`${file}: write ${JSON.stringify(found)} with an escape sequence in the source.`)
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  writeFileSync(file, code.replace(/[^\0-\x7f]/g, toEscape))
}

rmSync(OUTPUT, { recursive: true, force: true })
// Apart: what threads share with the program would be split into a hundred small files for both.
await bundle(PROGRAM, 'chunks', PROGRAM_GROUPS)
await bundle(listThreads(), 'threads')
for (const file of readdirSync(OUTPUT, { recursive: true, encoding: 'utf8' }))
  if (/\.m?js$/.test(file)) escapeNonAscii(path.join(OUTPUT, file))
