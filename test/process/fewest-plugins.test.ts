import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { ROOT } from '../support/root.ts'
import { writeSettings } from '../support/settings-file.ts'
import { readSource } from '../support/source-files.ts'

/** The program as it is compiled, module by module. The bundle has the same modules in fewer files. */
const program = fileURLToPath(new URL('dist/config/main.js', ROOT))

/** The files that docs/lab/development.md lists, "The way of a request". */
const WAY_OF_A_REQUEST = [
  ...readSource('docs/lab/development.md').matchAll(
    /`((?:core|plugins|projections|providers)\/[\w/-]+\.ts)`/g,
  ),
].map(([, file = '']) => file)

describe('a gateway that lists only auth, dispatch and decorate', () => {
  it('serves chat, and has loaded no other plugin', async () => {
    const CONFIG = await writeSettings('plugins: [auth, dispatch, decorate]')
    const coverage = await makeFolder()
    // Node writes the names of all modules that a process has run.
    const gateway = await startGatewayProcess({ CONFIG, NODE_V8_COVERAGE: coverage }, { program })
    const ask = (model: string) =>
      gateway.call('POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })

    for (const model of ['gpt-4o', 'openai/gpt-4o', 'openai/gpt-unlisted']) {
      const { status, body } = await ask(model)
      expect(status, model).to.equal(200)
      expect(body.provider).to.equal('openai')
      expect(body.choices[0].message.content).to.contain('Hello')
    }
    for (const model of ['auto', 'no-such-model', 'nobody/gpt-4o']) {
      const { status, body } = await ask(model)
      expect(status, model).to.equal(404)
      expect(body.error).to.include({ code: 'model_not_found', param: 'model' })
    }
    expect((await gateway.call('GET', '/v1/firewall-rules')).status).to.equal(404)
    expect((await gateway.call('GET', '/v1/models')).status).to.equal(404)

    expect(await gateway.stop()).to.equal(0)
    const loaded = await readLoadedModules(coverage)
    const plugins = loaded.flatMap((file) => /^plugins\/([\w-]+)/.exec(file)?.[1] ?? [])
    expect([...new Set(plugins)].toSorted()).to.deep.equal(['auth', 'decorate', 'dispatch'])
    expect(WAY_OF_A_REQUEST).to.have.lengthOf.within(30, 35)
    expect(loaded).to.include.members(WAY_OF_A_REQUEST)
  })
})

/** Returns the source files of the modules that were loaded, in any thread. */
async function readLoadedModules(coverage: string): Promise<readonly string[]> {
  const reports = await Promise.all(
    (await readdir(coverage)).map((file) => readFile(path.join(coverage, file), 'utf8')),
  )
  const files = reports.flatMap((text) =>
    [...text.matchAll(/\/dist\/([\w/-]+)\.js"/g)].map(([, name]) => `${name}.ts`),
  )
  return [...new Set(files)]
}
