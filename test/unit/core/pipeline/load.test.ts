import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { findPackage } from '../../../../core/pipeline/load.ts'
import { makeFolder } from '../../../support/folders.ts'
import { installPackage } from '../../../support/plugins.ts'

describe('findPackage', () => {
  let folder: string

  beforeEach(async () => {
    folder = await makeFolder()
  })

  /** Each package gets its own folder, because Node caches package manifests. */
  async function entryOf(manifest: object, specifier = 'x'): Promise<string> {
    folder = await makeFolder()
    const home = await installPackage(folder, 'x', '', manifest)
    await writeFile(path.join(home, 'other.cjs'), '')
    return path.relative(home, findPackage(specifier, folder) ?? '')
  }

  it('resolves exports that are for import only', async () => {
    expect(await entryOf({ exports: { import: './index.js' } })).to.equal('index.js')
    expect(await entryOf({ exports: { '.': { import: './index.js' } } })).to.equal('index.js')
  })

  it('resolves the first condition that applies', async () => {
    const exports = {
      '.': {
        types: './index.d.ts',
        browser: './b.js',
        node: { require: './other.cjs', import: './index.js' },
      },
    }
    expect(await entryOf({ exports })).to.equal('index.js')
    expect(await entryOf({ exports: { require: './other.cjs', default: ['./index.js'] } })).to.equal(
      'index.js',
    )
  })

  it('resolves a subpath', async () => {
    expect(await entryOf({ exports: { '.': './index.js', './more': './other.cjs' } }, 'x/more')).to.equal(
      'other.cjs',
    )
  })

  it('resolves main or index.js of a package without exports', async () => {
    expect(await entryOf({ exports: undefined, main: 'other.cjs' })).to.equal('other.cjs')
    expect(await entryOf({ exports: undefined })).to.equal('index.js')
    expect(await entryOf({ exports: undefined }, 'x/other.cjs')).to.equal('other.cjs')
  })

  it('finds a package in a parent folder', async () => {
    const home = await installPackage(folder, '@acme/x', '')
    expect(findPackage('@acme/x', path.join(folder, 'deep/down'))).to.equal(path.join(home, 'index.js'))
  })

  it('returns undefined for missing packages and for Node modules', () => {
    expect(findPackage('not-there', folder)).to.equal(undefined)
    expect(findPackage('fs', folder)).to.equal(undefined)
  })

  it('throws if the package does not export the subpath', async () => {
    await installPackage(folder, 'x', '')
    expect(() => findPackage('x/inner', folder)).to.throw('./inner')
  })
})
