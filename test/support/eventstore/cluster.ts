/** Responses to the client's initial requests: the cluster's leader and the server's features. */
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'

/** A cluster of a single node, its leader. */
export function buildClusterInfo(port: number): InstanceType<typeof gossip.ClusterInfo> {
  const endPoint = new gossip.EndPoint()
  endPoint.setAddress('127.0.0.1')
  endPoint.setPort(port)
  const id = new shared.UUID()
  id.setString('00000000-0000-4000-8000-000000000001')
  const member = new gossip.MemberInfo()
  member.setInstanceId(id)
  member.setTimeStamp('0')
  member.setState(gossip.MemberInfo.VNodeState.LEADER)
  member.setIsAlive(true)
  member.setHttpEndPoint(endPoint)
  const info = new gossip.ClusterInfo()
  info.setMembersList([member])
  return info
}

/**
 * Lists `batchappend`, as real servers do, but does not implement it, so that a client that uses it fails.
 */
export function buildSupportedMethods(version: string): InstanceType<typeof features.SupportedMethods> {
  const names = ['read', 'append', 'batchappend']
  const methods = names.map((name) => {
    const method = new features.SupportedMethod()
    method.setServiceName('event_store.client.streams.Streams')
    method.setMethodName(name)
    return method
  })
  const supported = new features.SupportedMethods()
  supported.setEventStoreServerVersion(version)
  supported.setMethodsList(methods)
  return supported
}
