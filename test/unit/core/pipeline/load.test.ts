import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { findPackage } from '../../../../core/pipeline/load.ts'
import { makeFolder } from '../../../support/gateway.ts'
import { installPackage } from '../../../support/plugins.ts'

describe('looking for an installed package', () => {
  let folder: string

  beforeEach(async () => {
    folder = await makeFolder()
  })

  /** Node remembers what it has read of a package: every one has a folder of its own. */
  async function entryOf(manifest: object, specifier = 'x'): Promise<string> {
    folder = await makeFolder()
    const home = await installPackage(folder, 'x', '', manifest)
    await writeFile(path.join(home, 'other.cjs'), '')
    return path.relative(home, findPackage(specifier, folder) ?? '')
  }

  it('takes what is exported to import alone', async () => {
    expect(await entryOf({ exports: { import: './index.js' } })).to.equal('index.js')
    expect(await entryOf({ exports: { '.': { import: './index.js' } } })).to.equal('index.js')
  })

  it('takes the first condition that holds', async () => {
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

  it('takes a sub-path', async () => {
    expect(await entryOf({ exports: { '.': './index.js', './more': './other.cjs' } }, 'x/more')).to.equal(
      'other.cjs',
    )
  })

  it('takes main, or index.js, of a package without exports', async () => {
    expect(await entryOf({ exports: undefined, main: 'other.cjs' })).to.equal('other.cjs')
    expect(await entryOf({ exports: undefined })).to.equal('index.js')
    expect(await entryOf({ exports: undefined }, 'x/other.cjs')).to.equal('other.cjs')
  })

  it('finds a package in a folder above', async () => {
    const home = await installPackage(folder, '@acme/x', '')
    expect(findPackage('@acme/x', path.join(folder, 'deep/down'))).to.equal(path.join(home, 'index.js'))
  })

  it('finds nothing where nothing is installed, and no module of Node', () => {
    expect(findPackage('not-there', folder)).to.equal(undefined)
    expect(findPackage('fs', folder)).to.equal(undefined)
  })

  it('throws when the package does not export what is asked for', async () => {
    await installPackage(folder, 'x', '')
    expect(() => findPackage('x/inner', folder)).to.throw('./inner')
  })
})
