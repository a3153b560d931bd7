import { expect } from 'chai'
import { hasClaim, isLeftOut, readClaim, readTexts } from '../../../../plugins/identity/claims.ts'

describe('claims', () => {
  const claims = {
    realm_access: { roles: ['eng', '', 7] },
    'kubernetes.io': { namespace: 'batch', pod: { name: 'a.b' } },
    'https://acme.example.com/groups': ['ops'],
    'a.b': 'whole',
    a: { b: 'path' },
    _claim_names: { groups: 'src1' },
  }

  it('are found by name, and by path where names have dots', () => {
    expect(readClaim(claims, 'kubernetes.io.namespace')).to.equal('batch')
    expect(readClaim(claims, 'kubernetes.io.pod.name')).to.equal('a.b')
    expect(readClaim(claims, 'https://acme.example.com/groups')).to.deep.equal(['ops'])
    expect(readClaim(claims, 'a.b')).to.equal('whole')
    for (const path of ['missing', 'a.c', 'a.b.c', '', '.', 'constructor', 'a.constructor', '__proto__'])
      expect(readClaim(claims, path), path).to.equal(undefined)
  })

  it('are read as texts, and compared with what is required', () => {
    expect(readTexts(claims, 'realm_access.roles')).to.deep.equal(['eng'])
    expect(readTexts(claims, 'a')).to.deep.equal([])
    expect(hasClaim(claims, 'realm_access.roles', 7)).to.equal(true)
    expect(hasClaim(claims, 'a.b', 'whole')).to.equal(true)
    expect(hasClaim(claims, 'a.b', 'who')).to.equal(false)
    expect([isLeftOut(claims, 'groups'), isLeftOut(claims, 'roles')]).to.deep.equal([true, false])
  })
})
