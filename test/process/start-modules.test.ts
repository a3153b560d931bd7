import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { AS_ADMIN } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { PROGRAM, ROOT } from '../support/root.ts'
import { listFiles, SOURCE_FOLDERS } from '../support/source-files.ts'

const NODE_OPTIONS = `--import=${new URL('test/fixtures/refuse-modules.mjs', ROOT)}`

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly security?: readonly object[]
}

/** Calls every operation with values that hardly any of them accepts, and returns those that failed. */
async function failingOperations(gateway: GatewayProcess): Promise<readonly string[]> {
  const { body: document } = await gateway.call('GET', '/openapi.json')
  const failed: string[] = []
  for (const [template, item] of Object.entries<Record<string, Operation>>(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method]
      if (operation === undefined) continue
      const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
      const pathname = template.replaceAll(/\{\w+\}/g, '1')
      const search = query.map(({ name }) => `${name}=1`).join('&')
      const body = method === 'get' || method === 'delete' ? undefined : { unknown: 1 }
      const headers = template.startsWith('/admin') ? AS_ADMIN : {}
      for (const address of new Set([pathname, `${pathname}?${search}`])) {
        const response = await fetch(gateway.url + address, {
          method: method.toUpperCase(),
          headers: {
            authorization: `Bearer ${gateway.demoKey}`,
            'content-type': 'application/json',
            ...headers,
          },
          ...(body && { body: JSON.stringify(body) }),
        })
        // Some are event streams without an end.
        await response.body?.cancel()
        if (response.status >= 500) failed.push(`${method} ${address}: ${response.status}`)
      }
    }
  }
  return failed
}

describe('the modules of the started program', () => {
  it('include no compiler of schemas, whichever endpoint is called', async () => {
    const gateway = await startGatewayProcess({ NODE_OPTIONS })
    const rule = { name: 'a', is_enabled: true, priority: 1 }
    const match_json = { contains: 'x', metadata_equals: { team: 'a' } }
    const routing = { ...rule, match_json, action_json: { set_mode: 'quality' } }
    expect((await gateway.call('POST', '/v1/routing-rules', routing)).status).to.equal(201)
    expect(await failingOperations(gateway)).to.deep.equal([])
    expect(gateway.stderr()).not.to.contain('must not be loaded')
    expect(await gateway.stop()).to.equal(0)
  })

  it('do not include TypeBox, whose import takes longer than many a start', () => {
    const folder = path.dirname(PROGRAM)
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.map'))
      .flatMap((file): string[] => JSON.parse(readFileSync(path.join(folder, file), 'utf8')).sources)
    expect(sources.some((source) => source.endsWith('core/contract/errors.ts'))).to.equal(true)
    expect(sources.filter((source) => source.includes('typebox'))).to.deep.equal([])
  })

  it('include those of all threads', () => {
    const threads = SOURCE_FOLDERS.flatMap((folder) => listFiles(folder, 'worker.ts')).filter(
      (file) => !file.startsWith('config/cluster/'),
    )
    expect(threads).to.include('core/patterns/pattern-worker.ts')
    const built = threads.map((file) => path.join(path.dirname(PROGRAM), file.replace(/ts$/, 'js')))
    expect(built.filter((file) => !existsSync(file))).to.deep.equal([])
  })

  it('are watched: a program that imports TypeBox or ajv fails', async () => {
    for (const [name, script] of [
      ['TypeBox', "await import('@sinclair/typebox')"],
      ['ajv', "(await import('node:module')).createRequire(process.cwd() + '/x')('ajv')"],
    ] as const) {
      const flags = ['--input-type=module', '--eval', script]
      const run = promisify(execFile)(process.execPath, flags, { env: { ...process.env, NODE_OPTIONS } })
      const error = await run.then(
        () => undefined,
        (error) => error,
      )
      expect(error?.stderr).to.contain(`${name} must not be loaded`)
    }
  })
})
