/** What a client asks before it works: which node leads, and what the server can do. */
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'

/** A cluster of one node, which leads it. */
export function writeClusterInfo(port: number): InstanceType<typeof gossip.ClusterInfo> {
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

/** `batchappend` is named, as real servers do, and not served: a client that would use it is found out. */
export function writeSupportedMethods(version: string): InstanceType<typeof features.SupportedMethods> {
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
