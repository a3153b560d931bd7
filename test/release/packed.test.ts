import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { BUILT_IN, listPlugins } from '../support/plugins.ts'
import { ROOT } from '../support/root.ts'

const PROJECT = fileURLToPath(ROOT)

const execute = promisify(execFile)

/** The source folders, of which `dist` contains the compiled modules. */
const FOLDERS = ['config', 'core', 'plugins', 'projections', 'providers']

const TYPED = `import { CONTRACT_VERSION, Counter, definePlugin, endpoint, GatewayError } from 'signalbox'
import { keyActor, StrictObject, Type, user, type Exchange, type PluginEvent } from 'signalbox'

type Seen = { type: 'Seen'; data: { userId: number } }

export default definePlugin({
  name: 'typed',
  contract: CONTRACT_VERSION,
  events: {
    types: { Seen: { type: 'object' } },
    initial: () => new Map<number, number>(),
    evolve: (seen, { data, time }: PluginEvent<Seen>) => seen.set(data.userId, time.length),
  },
  options: StrictObject({ limit: Type.Integer({ default: 10 }), path: Type.Optional(Type.String()) }),
  setup({ limit, path }, { counters, costOf, events, metrics, store }) {
    const length: number | undefined = path?.length
    const counter = new Counter({ name: 'typed_total', help: 'Typed.', registers: [metrics] })
    return {
      async decide(exchange: Exchange) {
        const last: number | undefined = events.state().get(exchange.account.userId)
        if (last === 0) throw new GatewayError('plan_required', 'Not now.')
        counter.inc()
      },
      async admit({ account }) {
        if (account === undefined) return
        await events.append('all', [{ type: 'Seen', data: { userId: account.userId } }], { actor: keyActor(account) })
      },
      async reply(exchange, next) {
        const reply = await next()
        exchange.state.isWhole = reply.type === 'whole'
        const { target } = exchange
        const cost: number | undefined = target && costOf({ input: limit, output: 1 }, target)
        const { total } = await counters.add('cost', cost ?? length ?? 0, 60)
        await store.set('total', { total }, 60)
        exchange.trace.push({ kind: 'typed', rule_id: 0, name: 'typed', action: 'count', outcome: 'applied' })
        return reply
      },
      inspect: () => ({
        transform: (event) => [event.withParts(event.parts.filter(({ type }) => type !== 'reasoning'))],
      }),
      endpoints: [
        endpoint({
          method: 'POST',
          path: '/v1/typed/{id}',
          access: user(),
          operationId: 'typed',
          summary: 'Typed.',
          tags: [],
          params: { id: Type.Integer() },
          body: StrictObject({ text: Type.String(), limit: Type.Optional(Type.Number()) }),
          responses: { 200: { description: 'Typed.' } },
          handle({ params, body, account, author }) {
            const sum: number = params.id + (body.limit ?? 0) + account.userId
            return { status: 200, body: { data: body.text.length + sum, by: author.actor.id } }
          },
        }),
      ],
    }
  },
})
`

const WRONG = `import type { Plugin } from 'signalbox'
const plugin: Plugin = { name: 'wrong', contract: 3, setup: () => ({ inspect: 'everything' }) }
export default plugin
`

const WRONG_OPTIONS = `import { definePlugin, StrictObject, Type } from 'signalbox'
export default definePlugin({
  name: 'wrong',
  contract: 3,
  options: StrictObject({ limit: Type.Integer() }),
  setup({ limit, limits }) {
    const text: string = limit
    return {}
  },
})
`

/** Creates a project with the packed Signalbox installed. Its dependencies link to those of this checkout. */
async function installPacked(): Promise<{ project: string; files: readonly string[] }> {
  const folder = await makeFolder()
  const checkout = await copyCheckout()
  await execute('npm', ['pack', '--pack-destination', folder], { cwd: checkout })
  const [tarball = ''] = await readdir(folder)
  const { stdout } = await execute('tar', ['-tzf', path.join(folder, tarball)])
  const project = await makeFolder()
  const modules = path.join(project, 'node_modules')
  await mkdir(path.join(modules, 'signalbox'), { recursive: true })
  await execute('tar', [
    '-xzf',
    path.join(folder, tarball),
    '-C',
    path.join(modules, 'signalbox'),
    '--strip-components=1',
  ])
  const { dependencies } = JSON.parse(await readFile(path.join(modules, 'signalbox/package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    await mkdir(path.dirname(path.join(modules, name)), { recursive: true })
    await symlink(path.join(PROJECT, 'node_modules', name), path.join(modules, name))
  }
  await writeFile(path.join(project, 'package.json'), '{"name":"a-project","type":"module","private":true}')
  const files = stdout
    .trimEnd()
    .split('\n')
    .map((file) => file.replace(/^package\//, ''))
  return { project, files }
}

/** What these scripts write into `dist`. `npm test` has run them just before, on the same sources. */
const BUILT = {
  'npm run build:program': ['program', 'validators', 'settings'],
  'npm run build:console': ['plugins/console/static'],
}

/**
 * Copies this checkout, with a module in its build whose source was deleted. The scripts of the copy run, but
 * those in `BUILT` are replaced by copies of their results.
 */
async function copyCheckout(): Promise<string> {
  const copy = await makeFolder()
  const left = ['node_modules', '.git', 'data', 'dist'].map((name) => path.join(PROJECT, name))
  await cp(PROJECT, copy, { recursive: true, filter: (source) => !left.includes(source) })
  await symlink(path.join(PROJECT, 'node_modules'), path.join(copy, 'node_modules'))
  await mkdir(path.join(copy, 'dist/core'), { recursive: true })
  await writeFile(path.join(copy, 'dist/core/forgotten.js'), '')
  const manifest = JSON.parse(await readFile(path.join(copy, 'package.json'), 'utf8'))
  for (const [script, folders] of Object.entries(BUILT)) {
    expect(manifest.scripts.build).to.contain(script)
    const copies = folders.map((folder) => `cp -R '${path.join(PROJECT, 'dist', folder)}' dist/${folder}`)
    manifest.scripts.build = manifest.scripts.build.replace(script, copies.join(' && '))
  }
  await writeFile(path.join(copy, 'package.json'), JSON.stringify(manifest))
  return copy
}

describe('the packed package', () => {
  let project: string
  let files: readonly string[]

  before(async function () {
    this.timeout(600_000)
    ;({ project, files } = await installPacked())
  })

  it('contains the expected files only', () => {
    expect(files).to.include.members([
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'docs/plugins.md',
      'config/default.yaml',
      'config/models.yaml',
      'config/rules-file.schema.json',
      'config/schema.json',
      'config/plugin-template/request/index.js',
      'dist/program/main.js',
      'dist/core/contract/index.d.ts',
      'dist/plugins/console/static/index.html',
    ])
    const known = [
      /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md)$/,
      /^docs\/((decisions|guides|lab)\/)?[\w-]+\.md$/,
      /^config\/rules-(file|cases)\.schema\.json$/,
      /^config\/((default|models|provider-presets)\.yaml|schema\.json|(deploy|plugin-template)\/.+)$/,
      new RegExp(`^dist/(${FOLDERS.join('|')})/.+\\.(js|d\\.ts)$`),
      /^dist\/(validators\/\w+\.cjs|settings\/\w+\.json)$/,
      /^dist\/program\/([\w./-]+)\.m?js(\.map)?$/,
      /^dist\/plugins\/console\/static\/(index\.html|assets\/(index|icon)-[\w-]+\.(js|css|svg))$/,
    ]
    expect(files.filter((file) => file.startsWith('dist/validators/'))).not.to.be.empty
    expect(files.filter((file) => !known.some((pattern) => pattern.test(file)))).to.deep.equal([])
  })

  it('contains no module without a source', () => {
    expect(files).not.to.include('dist/core/forgotten.js')
  })

  it('can be imported by another project', async () => {
    const script = `import { CONTRACT_VERSION, GatewayError } from 'signalbox'
      console.log(JSON.stringify([CONTRACT_VERSION, new GatewayError('not_found', 'x').status]))`
    const run = ['--input-type=module', '--eval', script]
    expect(JSON.parse((await execute(process.execPath, run, { cwd: project })).stdout)).to.deep.equal([
      3, 404,
    ])
  })

  it('has types that compile in a strict project and reject errors', async function () {
    this.timeout(600_000)
    await writeFile(path.join(project, 'typed.ts'), TYPED)
    await writeFile(path.join(project, 'wrong.ts'), WRONG)
    await writeFile(path.join(project, 'wrong-options.ts'), WRONG_OPTIONS)
    const tsc = path.join(PROJECT, 'node_modules/typescript/bin/tsc')
    const flags = '--strict --exactOptionalPropertyTypes --noEmit --target es2023 --module nodenext'
    const names = ['typed.ts', 'wrong.ts', 'wrong-options.ts']
    const errors: string = await execute(process.execPath, [tsc, ...flags.split(' '), ...names], {
      cwd: project,
    }).then(
      () => '',
      ({ stdout }) => String(stdout),
    )
    const errorsOf = (name: string) =>
      errors.split(/^(?=\S)/m).filter((error) => error.startsWith(`${name}(`))
    expect(errorsOf('typed.ts')).to.deep.equal([])
    expect(errorsOf('wrong.ts').join('')).to.contain("Type 'string' is not assignable to type")
    const wrongOptions = errorsOf('wrong-options.ts').join('')
    expect(wrongOptions).to.contain("Property 'limits' does not exist on type")
    expect(wrongOptions).to.contain("Type 'number' is not assignable to type 'string'")
  })

  it('writes a plugin package that passes its tests', async function () {
    this.timeout(600_000)
    const program = path.join(project, 'node_modules/signalbox/dist/program/main.js')
    await execute(process.execPath, [program, 'plugin', 'init', 'signalbox-short'], { cwd: project })
    const cwd = path.join(project, 'signalbox-short')
    const { scripts } = JSON.parse(await readFile(path.join(cwd, 'package.json'), 'utf8'))
    expect(scripts.test).to.equal('node --test')
    expect((await execute(process.execPath, ['--test'], { cwd })).stdout).to.match(/^. fail 0$/m)
  })

  it('starts with the example package listed', async function () {
    this.timeout(600_000)
    const program = path.join(project, 'node_modules/signalbox/dist/program/main.js')
    const example = path.join(PROJECT, 'test/fixtures/packages/signalbox-votes')
    await symlink(example, path.join(project, 'node_modules/signalbox-votes'))
    const CONFIG = await listPlugins(project, [...BUILT_IN, 'signalbox-votes'])

    const gateway = await startGatewayProcess({ CONFIG }, { cwd: project, program })

    const { body } = await gateway.call('POST', '/v1/votes', { good: true })
    expect(body.data).to.deep.equal({ good: 1, bad: 0 })
    expect((await gateway.call('GET', '/openapi.json')).body.info.version).to.equal('1.0.0')
    await gateway.stop()
  })
})
