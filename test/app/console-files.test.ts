import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { shippedFile } from '../../core/util/package-folder.ts'
import { createStaticEndpoints } from '../../plugins/console/static-endpoints.ts'
import { readStaticFiles } from '../../plugins/console/static-files.ts'
import { buildConsole } from '../support/console.ts'
import { CONSOLE_TYPES, writeConsoleTypes } from '../support/console-types.ts'
import { startDocumentedGateway } from '../support/documented-gateway.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { ROOT } from '../support/root.ts'

const FOLDER = shippedFile('dist/plugins/console/static')

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

describe('the files of the console', () => {
  let gateway: RunningGateway

  before(async () => {
    await buildConsole()
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  it('have a page with relative links, and files that never change', async () => {
    const redirect = await fetch(`${gateway.url}/console`, { redirect: 'manual' })
    expect(redirect.status).to.equal(308)
    expect(redirect.headers.get('location')).to.equal('console/')

    const page = await fetch(`${gateway.url}/console/`)
    expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).to.equal(POLICY)
    const html = await page.text()
    const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link)
    expect(links).to.have.length.above(2)
    for (const link of links) {
      expect(link).to.match(/^\.\/assets\/[\w-]+\.(?:js|css|svg)$/)
      const file = await fetch(new URL(link, page.url))
      expect(file.status).to.equal(200)
      expect(file.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
      expect(file.headers.get('content-encoding')).to.equal('gzip')
    }
    expect(html).not.to.match(/<style|<script(?![^>]* src=)|style="/)
  })

  it('are where the address of the gateway leads browsers; programs get JSON', async () => {
    const ask = (accept: string) => fetch(`${gateway.url}/`, { headers: { accept }, redirect: 'manual' })
    for (const accept of ['text/html,application/xhtml+xml,*/*;q=0.8', 'Text/HTML']) {
      const redirect = await ask(accept)
      expect([redirect.status, redirect.headers.get('location')]).to.deep.equal([302, 'console/'])
      expect(redirect.headers.get('vary')).to.contain('Accept')
    }
    for (const accept of ['*/*', 'application/json', 'text/html;q=0, */*']) {
      const answer = await ask(accept)
      expect(answer.status, accept).to.equal(200)
      const { name, ...addresses } = (await answer.json()) as Record<string, string>
      expect(name).to.equal('signalbox')
      for (const path of Object.values(addresses))
        expect((await fetch(new URL(path, answer.url))).status, path).to.equal(200)
    }
    expect((await fetch(`${gateway.url}/`, { method: 'POST' })).status).to.equal(405)
    expect((await fetch(`${gateway.routeUrl}/`)).status).to.equal(404)
  })

  it('are sent as they are to clients without gzip', async () => {
    const page = await fetch(`${gateway.url}/console/`, { headers: { 'accept-encoding': 'identity' } })
    expect(page.headers.get('content-encoding')).to.equal(null)
    expect(await page.text()).to.match(/^<!doctype html>/)
  })

  it('are no other files', async () => {
    for (const name of ['nothing.js', '..%2Findex.html', '%2e%2e%2f%2e%2e%2fplugin.js']) {
      const { status } = await fetch(`${gateway.url}/console/assets/${name}`)
      expect(status, name).to.equal(404)
    }
  })

  it('say how to build them if they were not', async () => {
    const [, page] = createStaticEndpoints(path.join(await makeFolder(), 'missing'))
    const call = { headers: {} } as Parameters<NonNullable<typeof page>['handle']>[0]
    expect(() => page?.handle(call))
      .to.throw('Run "npm run build"')
      .with.property('status', 503)
  })
})

describe('the types of the console', () => {
  it('are those of /openapi.json; npm run generate writes them', async () => {
    const gateway = await startDocumentedGateway()
    const { body } = await gateway.call('GET', '/openapi.json')
    await gateway.stop()
    expect(readFileSync(new URL(CONSOLE_TYPES, ROOT), 'utf8')).to.equal(writeConsoleTypes(body))
  })
})

describe('the bundle of the console', () => {
  it('is small, and refers to nothing outside', () => {
    const files = [...(readStaticFiles(FOLDER)?.values() ?? [])]
    expect(files).to.have.length(4)
    expect(files.reduce((sum, { gzipped }) => sum + gzipped.length, 0)).to.be.below(250_000)
    const urls = files.flatMap(({ content }) => content.toString().match(/https?:\/\/[\w.-]+/g) ?? [])
    expect(urls.filter((url) => url !== 'http://www.w3.org')).to.deep.equal([])
  })
})
